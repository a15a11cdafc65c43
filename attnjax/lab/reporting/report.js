// What the parts of the page share: elements, choices that the address keeps, tables to copy.

function element(parent, name, attributes = {}, text = "") {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  parent.append(made);
  return made;
}

function short(word, longest = 16) {
  return word.length > longest ? `${word.slice(0, longest - 1)}…` : word;
}

// A list for each field of a form, whose options may depend on the choices before it. The address
// keeps what is chosen, so that it survives a reload and can be sent. Returns a function that chooses.
function choices(form, prefix, options, draw) {
  const lists = Object.keys(options).map((name) => {
    const label = element(form, "label", {}, `${name} `);
    const list = element(label, "select", { name });
    list.addEventListener("change", () => choose({}));
    return list;
  });
  const saved = new URLSearchParams(location.hash.slice(1));
  function choose(wanted) {
    const now = {};
    for (const list of lists) {
      const offered = options[list.name](now), values = offered.map(([value]) => value);
      const value = wanted[list.name] ?? list.value;
      list.replaceChildren(...offered.map(([value, text]) => new Option(text, value)));
      list.value = values.includes(value) ? value : values[0];
      list.disabled = values.length < 2;
      now[list.name] = list.value;
    }
    const address = new URLSearchParams(location.hash.slice(1));
    for (const [name, value] of Object.entries(now)) address.set(prefix + name, value);
    history.replaceState(null, "", `#${address}`);
    draw(now);
  }
  choose(Object.fromEntries(lists.map(({ name }) => [name, saved.get(prefix + name) ?? undefined])));
  return choose;
}

const words = (text) => text.replace(/\s+/g, " ").trim();

// The head and the rows of a table, or of a list whose items have the same named parts; a cell is a
// text, and a column is of texts or of numbers.
function contents(of) {
  if (of.tagName === "TABLE") {
    const texts = [...of.rows[0].cells].map((cell, place) => !place || cell.matches(".text"));
    return { texts, rows: [...of.rows].map((row) => [...row.cells].map((cell) => words(cell.innerText))) };
  }
  const items = [...of.children].map((item) => [...item.querySelectorAll("[data-cell]")]);
  const names = items[0].map((part) => part.dataset.cell);
  const rows = [names, ...items.map((parts) => parts.map((part) => words(part.textContent)))];
  return { texts: names.map((name) => name !== "estimate"), rows };
}

const FORMS = {
  Markdown({ rows }) {
    const line = (row) => `| ${row.map((text) => text.replaceAll("|", "\\|")).join(" | ")} |`;
    return [line(rows[0]), line(rows[0].map(() => "---")), ...rows.slice(1).map(line)].join("\n");
  },
  LaTeX({ texts, rows }) {
    const math = {
      "↑": "$\\uparrow$", "↓": "$\\downarrow$", "±": "$\\pm$", "×": "$\\times$", "∞": "$\\infty$",
      "−": "$-$", "–": "--", "<": "$<$", ">": "$>$", "|": "$|$",
    };
    const plain = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}" };
    const escaped = (text) => text.replace(/[\\~^&%$#_{}<>|↑↓±×∞−–]/g,
      (sign) => math[sign] ?? plain[sign] ?? `\\${sign}`);
    const [head, ...body] = rows.map((row) => `${row.map(escaped).join(" & ")} \\\\`);
    const columns = texts.map((isText) => isText ? "l" : "r").join("");
    return [`\\begin{tabular}{${columns}}`, "\\toprule", head, "\\midrule", ...body, "\\bottomrule",
      "\\end{tabular}"].join("\n");
  },
};

// Buttons that copy a table or a list, behind the element `before`.
function copies(of, before) {
  const bar = element(before.parentElement, "p", { class: "copy" });
  before.after(bar);
  for (const [name, write] of Object.entries(FORMS)) {
    const button = element(bar, "button", { type: "button" }, `copy as ${name}`);
    button.addEventListener("click", async () => {
      const text = write(contents(of));
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = `copied as ${name}`;
      } catch {  // a browser may forbid it to a file: the text is shown instead
        bar.nextElementSibling?.matches("pre.copied") && bar.nextElementSibling.remove();
        bar.after(element(bar, "pre", { class: "copied" }, text));
      }
    });
  }
}

function start() {
  const data = JSON.parse(document.getElementById("data").textContent);
  for (const [name, work] of Object.entries({ attention, curves, answers })) {
    const room = document.getElementById(name);
    if (!room || !data[name]) continue;
    room.hidden = false;
    work(room, data[name]);
    room.parentElement.querySelector(".still")?.remove();
  }
  document.querySelectorAll(".scroll > table").forEach((table) => copies(table, table.parentElement));
  document.querySelectorAll(".verdicts").forEach((list) => copies(list, list));
}
