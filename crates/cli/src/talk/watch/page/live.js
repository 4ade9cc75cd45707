"use strict";
// Adds what is seen while the page is open. Words of a server become text, never markup.
(() => {
  const list = document.getElementById("lines");
  const link = document.getElementById("link");
  const most = Number(list.dataset.most);

  const tell = (sign, words) => {
    link.className = "badge " + sign;
    link.querySelector("use").setAttribute("href", "#s-" + sign);
    link.lastElementChild.textContent = words;
  };

  const part = (name, kind, words) => {
    const element = document.createElement(name);
    element.className = kind;
    element.textContent = words;
    return element;
  };

  const add = (seen) => {
    const item = part("li", seen.kind === "missed" ? "seen missed event" : "seen", "");
    item.append(part("b", "", seen.at), " ", part("small", seen.kind, seen.kind), " ");
    item.append(part("span", "said", seen.words));
    list.prepend(item);
    while (list.childElementCount > most) list.lastElementChild.remove();
    if (seen.kind === "status") {
      document.getElementById("status").textContent = seen.words;
      document.getElementById("since").textContent = seen.at;
    }
  };

  const source = new EventSource("events?after=" + list.dataset.after);
  source.onopen = () => tell("pass", "follows what happens");
  source.onerror = () => tell("fail", "the watch cannot be reached: it has ended, or too many pages follow it");
  source.onmessage = (event) => add(JSON.parse(event.data));
})();
