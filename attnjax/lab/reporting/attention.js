// The attention of one sentence: a map of the chosen head, lines between words, all heads of the
// layer; over an image the weights lie on the picture, once for each word.

const SVG = "http://www.w3.org/2000/svg";

function svg(parent, name, attributes = {}, text = "") {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  parent.append(element);
  return element;
}

// [heads][rows * columns] of a layer, in [0, 1]; 1 is the layer's greatest weight.
async function inflated(layer) {
  const bytes = Uint8Array.from(atob(layer.weights), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const all = new Uint8Array(await new Response(stream).arrayBuffer());
  const [heads, rows, columns] = layer.shape, size = rows * columns;
  return Array.from({ length: heads }, (_, head) =>
    Array.from(all.subarray(head * size, (head + 1) * size), (byte) => byte / 255));
}

// A picture of weights with a pixel for each, of a color that is the more opaque the greater they are.
function pixels(weights, columns, color) {
  const canvas = document.createElement("canvas"), rows = weights.length / columns;
  [canvas.width, canvas.height] = [columns, rows];
  const context = canvas.getContext("2d"), image = context.createImageData(columns, rows);
  weights.forEach((weight, place) => image.data.set([...color, weight * 255], 4 * place));
  context.putImageData(image, 0, 0);
  return canvas.toDataURL();
}

function accent() {
  const hex = getComputedStyle(document.documentElement).getPropertyValue("--accent").trim();
  return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
}

function heatMap(view, { weights, rows, columns, gold }, point) {
  const cell = Math.max(9, Math.min(22, Math.floor(620 / Math.max(columns.length, rows.length))));
  const left = 12 + 7 * Math.min(16, Math.max(...rows.map((word) => word.length)));
  const longest = Math.min(16, Math.max(...columns.map((word) => word.length)));
  const top = 14 + (longest > 2 ? 6.3 * longest : 8);
  const width = columns.length * cell, height = rows.length * cell;
  const beyond = longest > 2 ? 4.5 * longest : 4;
  const drawing = svg(view, "svg", {
    width: left + width + beyond, height: top + height + 2, role: "img", class: "map",
    "aria-label": "attention weights, a row for each query and a column for each key",
  });
  const every = Math.ceil(14 / cell);  // labels side by side would touch
  columns.forEach((word, place) => {
    if (place % every) return;
    const [x, y] = [left + (place + 0.5) * cell, top - 5];
    const turned = longest > 2 ? { transform: `rotate(-55 ${x} ${y})` } : { "text-anchor": "middle" };
    svg(drawing, "text", { x, y, ...turned }, short(word));
  });
  rows.forEach((word, place) => place % every || svg(drawing, "text",
    { x: left - 5, y: top + (place + 0.5) * cell + 4, "text-anchor": "end" }, short(word)));
  svg(drawing, "image", {
    x: left, y: top, width, height, preserveAspectRatio: "none",
    href: pixels(weights, columns.length, accent()),
  });
  svg(drawing, "rect", { x: left, y: top, width, height, class: "frame" });
  gold.forEach((places, row) => places.forEach((column) => {
    if (row < rows.length && column < columns.length) {
      svg(drawing, "rect", {
        x: left + column * cell, y: top + row * cell, width: cell, height: cell, class: "gold",
      });
    }
  }));
  const mark = svg(drawing, "rect", { width, height: cell, x: left, class: "mark", y: -99 });
  drawing.addEventListener("pointermove", (event) => {
    const box = drawing.getBoundingClientRect(), zoom = box.width / (left + width + beyond);
    const column = Math.floor(((event.clientX - box.left) / zoom - left) / cell);
    const row = Math.floor(((event.clientY - box.top) / zoom - top) / cell);
    const inside = row >= 0 && row < rows.length;
    mark.setAttribute("y", inside ? top + row * cell : -99);
    point(inside ? row : null, column >= 0 && column < columns.length ? column : null);
  });
  drawing.addEventListener("pointerleave", () => { mark.setAttribute("y", -99); point(null); });
}

// Words of both sides with lines between them; `show(row)` leaves those of one row.
function wordLines(view, { weights, rows, columns, scale }, point) {
  const step = 18, left = 115, right = 215, middle = 14;
  const height = Math.max(rows.length, columns.length) * step + 2 * middle;
  const drawing = svg(view, "svg", {
    width: 330, height, role: "img", class: "words", "aria-label": "lines between words",
  });
  const lines = weights.map((weight, place) => weight < 0.04 ? null : svg(drawing, "line", {
    x1: left, y1: middle + Math.floor(place / columns.length) * step,
    x2: right, y2: middle + (place % columns.length) * step, "stroke-opacity": weight * scale,
  }));
  const words = rows.map((word, row) => {
    const text = svg(drawing, "text", {
      x: left - 6, y: middle + row * step + 4, "text-anchor": "end", tabindex: 0,
    }, short(word));
    for (const kind of ["pointerenter", "focus", "click"]) text.addEventListener(kind, () => point(row));
    for (const kind of ["pointerleave", "blur"]) text.addEventListener(kind, () => point(null));
    return text;
  });
  columns.forEach((word, column) =>
    svg(drawing, "text", { x: right + 6, y: middle + column * step + 4 }, short(word)));
  return (row) => {
    lines.forEach((line, place) => {
      const own = Math.floor(place / columns.length) === row;
      line?.classList.toggle("away", row !== null && !own);
      line?.setAttribute("stroke-opacity", weights[place] * (own ? 1 : scale));
    });
    words.forEach((word, place) => word.classList.toggle("chosen", place === row));
  };
}

// The weights on the image, patch by patch: bright where the word looks, once for each word.
function overImage(view, { weights, rows, columns }, sentence) {
  const [down, across] = sentence.grid, side = 112, greatest = Math.max(...weights);
  rows.forEach((word, row) => {
    const figure = element(view, "figure", { class: "patch" });
    const drawing = svg(figure, "svg", { width: side, height: side, role: "img", "aria-label": word });
    const box = { width: side, height: side, preserveAspectRatio: "none" };
    svg(drawing, "image", { ...box, href: `data:image/png;base64,${sentence.image}` });
    const own = weights.slice(row * columns.length, (row + 1) * columns.length);
    const veil = own.map((weight) => 0.8 * (1 - weight / greatest));
    svg(drawing, "image", { ...box, href: pixels(veil, across, [0, 0, 0]) });
    own.forEach((weight, place) => {
      const patch = svg(drawing, "rect", {
        x: (place % across) * side / across, y: Math.floor(place / across) * side / down,
        width: side / across, height: side / down, class: "patch",
      });
      svg(patch, "title", {}, `${word}: ${weight.toFixed(3)}`);
    });
    element(figure, "figcaption", {}, word);
  });
}

// The words of a text in one line, characters side by side.
function line(words) {
  return words.join(words.every((word) => word.length < 2) ? "" : " ");
}

// What rows and columns are, where sources are points, where a decoder is given a text, and elsewhere.
const POINTS = { target: "the queries’ first coordinates", source: "the points’ first coordinates" };
const DECODED = {
  target: "words of the reference (which the decoder is given; not its own answer), each as it is predicted",
  inputs: "the decoder’s inputs: the reference one word late, behind ⊢",
};
const READ = {
  target: "the right label",
  inputs: "the words that the model reads, behind ⊢",
  source: "the source",
  read: "the words that the model reads",
};

function attention(room, all) {
  const [map, lines, heads, patches] = ["map", "lines", "heads", "patches"].map(
    (name) => room.querySelector(`[data-view=${name}]`));
  const [caption, reading] = ["caption", "reading"].map((name) => room.querySelector(`[data-view=${name}]`));
  let latest;  // two drawings may be under way
  const names = (list) => list.map((name) => [name, name]);
  const choose = choices(room.querySelector("form"), "a", {
    variant: () => names(Object.keys(all)),
    seed: (now) => names(Object.keys(all[now.variant])),
    sentence: (now) => all[now.variant][now.seed].map((sentence, place) =>
      [String(place), `${sentence.number + 1}: ${line(sentence.image ? sentence.target : sentence.source)}`.slice(0, 60)]),
    layer: (now) => sentenceOf(now).layers.map((layer, place) => [String(place), layer.name]).reverse(),
    head: (now) => Array.from({ length: sentenceOf(now).layers[now.layer].shape[0] },
      (_, head) => [String(head), String(head + 1)]),
  }, draw);
  function sentenceOf(now) {
    return all[now.variant][now.seed][now.sentence];
  }
  async function draw(now) {
    latest = now;
    const sentence = sentenceOf(now), layer = sentence.layers[now.layer];
    const every = await inflated(layer);
    if (latest !== now) return;
    const [rows, columns] = [sentence.words[layer.rows], sentence.words[layer.columns]];
    const isImage = Boolean(sentence.image) && layer.columns === "source";
    const ofWords = layer.rows === "target" && layer.columns === "source";
    const shown = { weights: every[now.head], rows, columns, scale: layer.scale, gold: ofWords ? sentence.gold : [] };
    const whose = sentence.points ? POINTS : sentence.decoded ? { ...READ, ...DECODED } : READ;
    for (const view of [map, lines, heads, patches]) view.replaceChildren();
    caption.textContent = `${layer.name}, head ${+now.head + 1} of ${layer.shape[0]}, ${now.variant}, ` +
      `seed ${now.seed}, test sentence ${sentence.number + 1}. Rows${layer.rows === layer.columns ? " and columns" : `: ${whose[layer.rows]}. Columns`}: ` +
      `${isImage ? "patches of the picture, bright where the word looks" : whose[layer.columns]}. ` +
      `The ${isImage ? "brightest" : "strongest color"} is ${layer.scale}, the layer’s greatest weight` +
      (shown.gold.length && !isImage ? "; outlined: the gold alignment." : ".");
    reading.textContent = "";
    if (isImage) {
      overImage(patches, shown, sentence);
    } else {
      let show = () => {};
      const point = (row, column = null) => {
        show(row);
        reading.textContent = row === null ? "" : column === null ? rows[row]
          : `${rows[row]} → ${columns[column]}: ${(shown.weights[row * columns.length + column] * layer.scale).toFixed(3)}`;
      };
      heatMap(map, shown, point);
      show = wordLines(lines, shown, point);
    }
    heads.parentElement.hidden = every.length < 2;
    every.forEach((weights, head) => {
      const button = element(heads, "button", { type: "button", "aria-pressed": String(head === +now.head) });
      const box = { width: 84, height: Math.max(24, Math.min(168, 84 * rows.length / columns.length)) };
      element(button, "img", { src: pixels(weights, columns.length, accent()), alt: "", ...box });
      element(button, "span", {}, `head ${head + 1}`);
      button.addEventListener("click", () => choose({ head: String(head) }));
    });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => choose({}));
}
