// The test sentences on which two variants differ most, with the reference beside them.

function answers(room, { seed, score, sentences }) {
  const body = room.querySelector("tbody"), names = Object.keys(sentences[0]?.answers ?? {});
  const head = room.querySelectorAll("thead th");
  choices(room.querySelector("form"), "d", {
    one: () => names.map((name) => [name, name]),
    other: (now) => names.filter((name) => name !== now.one).map((name) => [name, name]),
  }, (now) => {
    const apart = ({ answers }) => Math.abs(answers[now.one][1] - answers[now.other][1]);
    const most = sentences.filter((sentence) => apart(sentence) > 0)
      .sort((a, b) => apart(b) - apart(a)).slice(0, 8);
    [head[2].textContent, head[3].textContent] = [now.one, now.other];
    body.replaceChildren();
    for (const sentence of most) {
      const row = element(body, "tr");
      element(row, "td", { class: "text long" }, `${sentence.number + 1}: ${sentence.source}`);
      element(row, "td", { class: "text long" }, sentence.reference);
      for (const name of [now.one, now.other]) {
        const [text, value] = sentence.answers[name];
        const cell = element(row, "td", { class: "text long" }, text);
        element(cell, "small", {}, ` ${score} ${value}`);
      }
    }
    room.querySelector("[data-view=none]").hidden = most.length > 0;
  });
}
