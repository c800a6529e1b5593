// Shows what Python made, and says what was moved; it computes nothing.
// In Jupyter `model` is that of anywidget, in `bsvdd explore` that of start.js.
const NAMES = ["verdict", "picture", "prior", "decisions", "checks", "row", "code"];

function render({ model, el: root }) {
  const made = (tag, className, parent) => parent.appendChild(Object.assign(document.createElement(tag), { className }));
  root.classList.add("bsvdd");
  const side = made("div", "side", root), main = made("div", "main", root);
  const panels = { controls: made("div", "controls", side) };
  const busy = made("div", "busy", side), said = made("div", "said", side);
  busy.setAttribute("role", "status");
  said.setAttribute("role", "alert");
  panels.history = made("div", "history", side);
  for (const name of NAMES) panels[name] = made("section", name, main);

  let sent = 0, waiting = false, wanted = null;
  const flush = (asked) => {
    waiting = true;
    model.set("asked", { ...asked, number: ++sent });
    model.save_changes();
  };
  // one question at a time: moves that come meanwhile are joined, so no answer is late
  const send = (asked) => {
    wanted = { ...wanted, ...asked };
    root.classList.add("waiting");
    busy.textContent = Object.keys(asked).some((name) => /prior|kernel|bandwidth/.test(name)) ? "sampling …" : "working …";
    if (!waiting) next();
  };
  const next = () => { const asked = wanted; wanted = null; flush(asked); };

  const show = (name, html) => {
    const panel = panels[name];
    if (name === "controls" && (wanted || panel.querySelector(":active"))) return; // a slider in a hand stays
    const focused = panel.contains(document.activeElement) ? document.activeElement.name : null;
    panel.innerHTML = html;
    if (focused) panel.querySelector(`[name="${CSS.escape(focused)}"]`)?.focus();
  };
  const draw = () => {
    const state = model.get("state");
    if (!state?.panels && !state?.said) return;
    if ((state.number ?? 0) !== sent && !state.failed) return;
    waiting = false;
    for (const [name, html] of Object.entries(state.panels ?? {})) show(name, html);
    if (state.said !== undefined) { said.textContent = state.said; said.hidden = !state.said; }
    if (state.took && !wanted) busy.textContent = state.took;
    root.classList.toggle("drawing", Boolean(state.more));
    if (wanted) return next();
    root.classList.remove("waiting");
    if (state.more) flush({ more: true });
  };

  root.addEventListener("input", ({ target }) => {
    if (target.type === "range") target.nextElementSibling.textContent = JSON.parse(target.dataset.texts)[target.value];
  });
  root.addEventListener("change", ({ target }) => {
    if (target.name) send({ [target.name]: target.type === "range" ? JSON.parse(target.dataset.values)[target.value] : target.value });
  });
  const click = async ({ target }) => {
    const row = target.closest("[data-row]");
    if (row) return send({ row: row.dataset.row });
    if (!target.matches("button.copy")) return;
    await navigator.clipboard.writeText(panels.code.querySelector("pre").textContent);
    target.textContent = "Copied";
  };
  root.addEventListener("click", click);
  root.addEventListener("keydown", (event) => event.key === "Enter" && event.target.dataset.row && click(event));
  model.on("change:state", draw);
  draw();
}

export default { render };
