"""The widget of the picture, which says where it was clicked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anywidget
import traitlets


class Picture(anywidget.AnyWidget):
    """A PNG that sends the place of each click, as shares of its width and height.

    Attributes
    ----------
    value : bytes
        The PNG.
    """

    _esm = """
    function render({ model, el }) {
      const image = document.createElement("img");
      image.className = "bsvdd-picture";
      image.alt = "boundary, distances, support and weights of this setting";
      let url = "";
      const draw = () => {
        URL.revokeObjectURL(url);
        url = URL.createObjectURL(new Blob([model.get("value")], { type: "image/png" }));
        image.src = url;
      };
      image.addEventListener("click", event => {
        const box = image.getBoundingClientRect();
        model.send({
          x: (event.clientX - box.left) / box.width,
          y: (event.clientY - box.top) / box.height,
        });
      });
      model.on("change:value", draw);
      draw();
      el.append(image);
      return () => { model.off("change:value", draw); URL.revokeObjectURL(url); };
    }
    export default { render };
    """
    _css = ".bsvdd-picture {max-width: 100%; cursor: crosshair}"

    value = traitlets.Bytes().tag(sync=True)

    def on_click(self, receive: Callable[[float, float], None]) -> None:
        """Call ``receive(x, y)`` at each click: shares from the left and from the top, 0 to 1."""

        def of_message(_: Any, content: Any, buffers: Any) -> None:
            receive(float(content["x"]), float(content["y"]))

        self.on_msg(of_message)
