"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const search = at("search"), results = at("results"), restore = at("restore");

  // Everything goes in as text: whatever a page or its URL holds can only show.
  function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  // A text of the interface: in both languages, of which the style shows one.
  function say(name, ...values) {
    const made = document.createDocumentFragment();
    const fill = (text) => text.replace(/\{(\d)\}/g, (_, place) => values[place]);
    data.messages[name].forEach((text, place) => made.append(element("span", { class: "t", lang: ["en", "zh"][place] }, fill(text))));
    return made;
  }

  function diff(index) {
    const parts = data.diffs[index];
    const box = element("div", { class: "diff", dir: "auto", tabindex: "0", translate: "no", lang: "" });
    const same = parts.every((part) => part[0] === "=");
    box.append(element("p", { class: "quiet" }, say(same ? "js_diff_same" : "js_diff")));
    for (const part of parts) {
      // The blank before the words stands before their line, too.
      const words = part[1] === " " ? part.slice(2) : part.slice(1);
      if (words.length < part.length - 1) box.append(part[1]);
      if (part[0] === "…") box.append(element("p", { class: "quiet" }, say("js_cut")));
      else box.append(element({ "+": "ins", "-": "del" }[part[0]] ?? "bdi", {}, words));
    }
    return box;
  }

  function toggleDiff(button) {
    const holder = button.closest("li");
    const open = holder.querySelector(".diff");
    button.setAttribute("aria-expanded", String(!open));
    if (open) open.remove();
    else holder.append(diff(Number(button.dataset.diff)));
    button.replaceChildren(say(open ? "js_show" : "js_hide"));
  }

  // A group stays if it has all words, or some of its copies have those that it lacks.
  function find() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const group of all(".group")) {
      const own = group.firstElementChild.textContent.toLowerCase();
      const left = words.filter((word) => !own.includes(word));
      let shown = 0;
      for (const copy of all(".copy", group)) {
        const text = left.length ? copy.textContent.toLowerCase() : "";
        copy.hidden = !left.every((word) => text.includes(word));
        shown += !copy.hidden;
      }
      group.hidden = !shown;
      if (words.length && shown) for (const more of all("details", group)) more.open = true;
      found += shown;
    }
    results.replaceChildren(say("js_found", found.toLocaleString("en")));
  }

  // As a shell takes it for one word; dedup restore takes * for any text, itself among it.
  const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

  function showRestore(button) {
    const holder = button.closest("li");
    const shown = holder.querySelector(":scope > .setting");
    if (shown) return shown.remove();
    const url = button.parentNode.querySelector("a.url").getAttribute("href");
    const option = holder.matches(".group") ? "--group" : "--url";
    const id = `restore-${all(".setting").length}`;
    button.parentNode.after(element("div", { class: "setting" },
      element("code", { id, dir: "ltr", tabindex: "0" }, restore.textContent.replace(" >> ", () => ` ${option} ${quote(url)} >> `)),
      element("button", { type: "button", class: "take", "data-copy": id }, say("js_take"))));
  }

  async function take(button) {
    const source = at(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.replaceChildren(say("js_copied"));
    } catch {
      getSelection().selectAllChildren(source); // where a file may not use the clipboard
    }
  }

  function speak(chosen) {
    const language = chosen === "zh" ? "zh" : "en";
    document.documentElement.lang = language;
    for (const named of all("[data-en]")) {
      const text = named.dataset[language];
      named.setAttribute("aria-label", text);
      if (named.matches("#search")) named.placeholder = text;
    }
    for (const button of all("[data-language]")) button.setAttribute("aria-pressed", String(button.dataset.language === language));
  }

  if (restore)
    for (const pair of all(".group .pair"))
      if (pair.querySelector("a.url")) pair.append(element("button", { type: "button", class: "restore" }, say("js_restore")));
  if (search) {
    search.form.hidden = false;
    search.form.addEventListener("submit", (event) => event.preventDefault());
    search.addEventListener("input", find);
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.matches(".compare")) toggleDiff(button);
    else if (button?.matches(".restore")) showRestore(button);
    else if (button?.dataset.copy) take(button);
    else if (button?.dataset.language) speak(button.dataset.language);
  });
  // Every drop is named on paper.
  addEventListener("beforeprint", () => { for (const more of all(".group details")) more.open = true; });
  speak((navigator.languages || [navigator.language]).find((name) => /^(zh|en)\b/i.test(name))?.slice(0, 2).toLowerCase());
})();
