"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const ROWS = 25;
  const table = document.getElementById("group-table");
  const body = table.tBodies[0];
  const search = document.getElementById("search");
  const results = document.getElementById("results");
  const previous = document.getElementById("previous");
  const next = document.getElementById("next");
  let order = "copies", descending = true, page = 0, shown = data.groups;

  const collator = new Intl.Collator(undefined, { numeric: true });
  const number = (value) => value.toLocaleString("en");

  // Everything goes in as text: whatever a page or its URL holds can only show.
  function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
    made.append(...children.filter((child) => child !== null));
    return made;
  }

  // A text of the interface: in both languages, of which the style shows one.
  function say(name) {
    const made = document.createDocumentFragment();
    data.messages[name].forEach((text, place) => made.append(element("span", { class: "t", lang: ["en", "zh"][place] }, text)));
    return made;
  }

  function link(url) {
    if (!/^https?:\/\//i.test(url) || /[\ufffd\u2026]/.test(url))
      return element("span", { class: "url", dir: "ltr" }, url);
    return element("a", { class: "url", dir: "ltr", href: url, target: "_blank", rel: "noopener noreferrer nofollow" }, url);
  }

  function diff(index) {
    const parts = data.diffs[index];
    const box = element("div", { class: "diff", dir: "auto", tabindex: "0", translate: "no", lang: "" });
    const same = parts.every((part) => part[0] === "=");
    box.append(element("p", { class: "quiet" }, say(same ? "js_diff_same" : "js_diff")));
    for (const part of parts) {
      // A blank before the words stands before their line, too.
      const words = part.slice(1).trimStart();
      if (part[1] === " ") box.append(" ");
      if (part[0] === "…") box.append(element("p", { class: "quiet" }, say("js_cut")));
      else if (part[0] === "+") box.append(element("ins", {}, words));
      else if (part[0] === "-") box.append(element("del", {}, words));
      else box.append(element("bdi", {}, words));
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

  function compareButton(index) {
    return element("button", { type: "button", class: "compare", "data-diff": index, "aria-expanded": "false" }, say("js_show"));
  }

  const distanceOf = (group) => group.copies.reduce((most, copy) => Math.max(most, copy[1] ?? 0), 0);
  const keys = { original: (g) => g.url, copies: (g) => g.count, distance: distanceOf, host: (g) => g.host };
  const rounded = (value) => String(Math.round(value * 1000) / 1000);

  function detailOf(group) {
    const list = element("ul", { class: "copies-list" });
    const original = element("span", { class: "distance" }, say("js_original"));
    list.append(element("li", {}, element("div", { class: "pair" }, original, element("div", { class: "urls" }, link(group.url)))));
    for (const [url, distance, index] of group.copies) {
      const label = distance === null ? [say("js_exact")] : [say("js_distance"), ` ${rounded(distance)}`];
      const end = index !== null ? compareButton(index) : element("span", { class: "quiet" }, distance === null ? "" : say("js_no_text"));
      list.append(element("li", {}, element("div", { class: "pair" }, element("span", { class: "distance" }, ...label), element("div", { class: "urls" }, link(url)), end)));
    }
    if (group.count > group.copies.length)
      list.append(element("li", { class: "quiet" }, `+ ${number(group.count - group.copies.length)} `, say("js_more_copies")));
    return list;
  }

  function toggleGroup(button, group) {
    const row = button.closest("tr");
    const isOpen = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!isOpen));
    if (isOpen) return row.nextElementSibling.remove();
    const detail = element("tr", { class: "detail", role: "row" }, element("td", { colspan: "4", role: "cell" }, detailOf(group)));
    row.after(detail);
    const first = detail.querySelector(".compare");
    if (first) toggleDiff(first);
  }

  function rowOf(group) {
    const button = element("button", { type: "button", class: "open", "aria-expanded": "false" });
    if (group.title) button.append(element("bdi", { class: "title", dir: "auto", lang: "" }, group.title));
    button.append(element("span", { class: "url", dir: "ltr" }, group.url));
    button.addEventListener("click", () => toggleGroup(button, group));
    return element("tr", { role: "row" },
      element("td", { role: "cell", class: "original" }, button),
      element("td", { role: "cell", class: "copies" }, label("copies"), number(group.count)),
      element("td", { role: "cell", class: "distance" }, label("distance"), rounded(distanceOf(group))),
      element("td", { role: "cell", class: "host" }, element("span", { class: "url", dir: "ltr" }, group.host)));
  }

  // The name of its column, for narrow screens, which have no columns.
  const label = (name) => element("span", { class: "label" }, ...[...table.querySelectorAll(`th.${name} .t`)].map((text) => text.cloneNode(true)), ": ");

  function draw() {
    const pages = Math.max(1, Math.ceil(shown.length / ROWS));
    page = Math.min(page, pages - 1);
    body.replaceChildren(...shown.slice(page * ROWS, (page + 1) * ROWS).map(rowOf));
    if (!shown.length) body.append(element("tr", { role: "row" }, element("td", { colspan: "4", role: "cell" }, say("js_no_results"))));
    results.replaceChildren(`${number(shown.length)} `, say("js_results"));
    document.getElementById("page").replaceChildren(say("js_page"), ` ${page + 1} `, say("js_of"), ` ${pages}`);
    previous.disabled = page === 0;
    next.disabled = page === pages - 1;
    document.querySelector(".pager").hidden = pages === 1;
  }

  function update() {
    const wanted = search.value.trim().toLowerCase();
    const texts = (group) => [group.url, group.title, ...group.copies.map((copy) => copy[0])];
    shown = data.groups.filter((group) => !wanted || texts(group).some((text) => text.toLowerCase().includes(wanted)));
    const key = keys[order];
    shown.sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      const less = typeof x === "number" ? x - y : collator.compare(x, y);
      return (descending ? -less : less) || b.count - a.count;
    });
    page = 0;
    draw();
  }

  function speak(chosen) {
    const language = chosen === "zh" ? "zh" : "en";
    document.documentElement.lang = language;
    for (const named of document.querySelectorAll("[data-en]")) {
      const text = named.dataset[language];
      named.setAttribute("aria-label", text);
      if (named.placeholder !== undefined && named.matches("input")) named.placeholder = text;
    }
    for (const button of document.querySelectorAll("[data-language]"))
      button.setAttribute("aria-pressed", String(button.dataset.language === language));
  }

  search.addEventListener("input", update);
  previous.addEventListener("click", () => { page -= 1; draw(); });
  next.addEventListener("click", () => { page += 1; draw(); });
  for (const button of table.querySelectorAll("[data-sort]"))
    button.addEventListener("click", () => {
      const chosen = button.dataset.sort;
      descending = chosen === order ? !descending : chosen === "copies" || chosen === "distance";
      order = chosen;
      for (const header of table.tHead.rows[0].cells) header.removeAttribute("aria-sort");
      button.closest("th").setAttribute("aria-sort", descending ? "descending" : "ascending");
      update();
    });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.matches(".compare")) toggleDiff(button);
    else if (button.dataset.language) speak(button.dataset.language);
    else if (button.dataset.copy) copy(button);
  });

  async function copy(button) {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.replaceChildren(say("js_copied"));
    } catch {
      getSelection().selectAllChildren(source); // where a file may not use the clipboard
    }
  }

  previous.append(say("js_previous"));
  next.append(say("js_next"));
  update();
  speak((navigator.languages || [navigator.language]).find((name) => /^(zh|en)\b/i.test(name))?.slice(0, 2).toLowerCase());
})();
