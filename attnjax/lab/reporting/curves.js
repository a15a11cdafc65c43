// Learning curves: drag over the small chart to zoom, click names to compare.

function curves(room, { rows, figure }) {
  const view = room.querySelector("[data-view=curves]");
  const loss = (name) => Number(!name.endsWith("loss"));
  const kinds = [...new Set(rows.map((row) => row.of))]
    .sort((a, b) => loss(a) - loss(b)).map((name) => [name, name]);
  const choose = choices(room.querySelector("form"), "c", {
    curve: () => kinds,
    seeds: () => [["mean", "mean"], ["each", "each"]],
    axis: () => [["linear", "linear"], ["log", "logarithmic"]],
  }, draw);
  function draw(now) {
    const spec = JSON.parse(JSON.stringify(figure));
    const positive = (row) => now.axis === "linear" || row.value > 0;
    spec.data = { values: rows.filter((row) => row.of === now.curve && positive(row)) };
    const [detail, overview] = spec.vconcat;
    detail.width = overview.width = Math.max(220, view.clientWidth - 90);
    overview.encoding.color.legend.columns = Math.max(1, Math.floor(view.clientWidth / 130));
    detail.encoding.y.title = now.curve;
    detail.encoding.y.scale.type = now.axis;
    if (now.seeds === "each") {
      detail.encoding.detail = overview.encoding.detail = { field: "seed", type: "nominal" };
    } else {
      detail.encoding.y.aggregate = overview.encoding.y.aggregate = "mean";
    }
    vegaEmbed(view, spec, { renderer: "svg", actions: false, ast: true });
  }
  let width = view.clientWidth;
  room.querySelector("button").addEventListener("click", () => choose({}));
  addEventListener("resize", () => {
    if (view.clientWidth !== width) { width = view.clientWidth; choose({}); }
  });
}
