// Stands for the model of anywidget: asks the server of `bsvdd explore`.
import page from "./page.js";
const values = { asked: {} }, seen = [];
const ask = async () => {
  try {
    const answer = await fetch("state", {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(values.asked),
    });
    if (!answer.ok) throw new Error(answer.status);
    values.state = await answer.json();
  } catch (error) {
    values.state = { failed: true, said: `No answer (${error.message}): start bsvdd explore again.` };
  }
  seen.forEach((each) => each());
};
const model = { get: (name) => values[name], set: (name, value) => (values[name] = value), save_changes: ask, on: (_, each) => seen.push(each) };
page.render({ model, el: document.querySelector("#page") });
ask();
