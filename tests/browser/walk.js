/**
 * Walks a mounted view through every ordered pair of its tabs and says what a person would not put up with.
 * Runs inside the page, in any engine: `walk(host, options)` with the element that carries `.headscope`.
 */
globalThis.headscopeWalk = (() => {
  const frames = (count) => new Promise((resolve) => {
    const next = (left) => (left ? requestAnimationFrame(() => next(left - 1)) : resolve());
    next(count);
  });
  const box = (element) => element.getBoundingClientRect();
  const near = (a, b, by = 1.5) => Math.abs(a - b) <= by;

  /** Each ordered pair once: an Eulerian circuit of the complete graph of tabs. */
  function circuit(names) {
    const left = new Map(names.map((name) => [name, names.filter((each) => each !== name)]));
    const stack = [names[0]];
    const route = [];
    while (stack.length) {
      const here = stack[stack.length - 1];
      if (left.get(here).length) stack.push(left.get(here).pop());
      else route.push(stack.pop());
    }
    return route.reverse();
  }

  const shown = (element) => element.checkVisibility?.({ visibilityProperty: true }) ?? element.getClientRects().length > 0;

  /** Every run of text that can be seen, where it stands and by how much it is cut. */
  function texts(root) {
    const found = [];
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const parent = node.parentElement;
      if (!node.data.trim() || !parent || !shown(parent)) continue;
      if (parent.closest(".sr, option, script, style, noscript, .tooltip, .dialog, .finder, .menu-list")) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const rect of range.getClientRects()) {
        const run = { text: node.data.trim(), parent, left: rect.left, right: rect.right, top: rect.top, bottom: rect.bottom, cut: 0 };
        for (let at = parent; at && at !== root.parentNode; at = at.parentElement) {
          const style = getComputedStyle(at);
          if (style.overflowX === "visible" && style.overflowY === "visible") continue;
          const edge = box(at);
          const scrolls = [style.overflowX, style.overflowY].some((each) => each === "auto" || each === "scroll");
          const beyond = Math.max(edge.left - run.left, run.right - edge.right);
          if (!scrolls && style.textOverflow !== "ellipsis" && beyond > 1.5 && run.right > edge.left && run.left < edge.right) run.cut = beyond;
          run.left = Math.max(run.left, edge.left);
          run.right = Math.min(run.right, edge.right);
          run.top = Math.max(run.top, edge.top);
          run.bottom = Math.min(run.bottom, edge.bottom);
        }
        if (run.right - run.left > 2 && run.bottom - run.top > 3) found.push(run);
      }
    }
    return found;
  }

  function overlaps(runs) {
    const problems = [];
    const sorted = [...runs].sort((a, b) => a.top - b.top);
    for (let i = 0; i < sorted.length; i++) {
      const a = sorted[i];
      for (let j = i + 1; j < sorted.length && sorted[j].top < a.bottom - 3; j++) {
        const b = sorted[j];
        if (a.parent === b.parent || a.parent.contains(b.parent) || b.parent.contains(a.parent)) continue;
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const tall = Math.min(a.bottom, b.bottom) - b.top;
        if (wide > 2 && tall > 4) problems.push(`“${a.text}” lies over “${b.text}”`);
      }
    }
    return problems;
  }

  function blank(canvas) {
    if (canvas.width < 2 || canvas.height < 2) return true;
    const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    const step = Math.max(4, 4 * Math.floor(data.length / 4 / 20000));
    for (let i = step; i < data.length; i += step) {
      if (data[i] !== data[0] || data[i + 1] !== data[1] || data[i + 2] !== data[2] || data[i + 3] !== data[3]) return false;
    }
    return true;
  }

  /** What is wrong with the picture as it stands. */
  function inspect(host, name) {
    const root = host.shadowRoot.querySelector(".hs");
    const problems = [];
    const bad = (holds, sentence) => holds || problems.push(sentence);
    bad(host.headscope.state.view === name, `the state is ${host.headscope.state.view}`);
    const chosen = root.querySelector('[role="tab"][aria-selected="true"]');
    bad(chosen?.dataset.view === name, `the chosen tab is ${chosen?.dataset.view}`);
    const [body, stage, rail] = [".body", ".stage", ".rail"].map((each) => root.querySelector(each));
    const [b, s] = [box(body), box(stage)];
    bad(near(s.right, b.right), `the stage ends at ${s.right}, its frame at ${b.right}`);
    if (rail && box(rail).width < b.width - 40) bad(near(box(rail).right, s.left), `chips end at ${box(rail).right}, the stage starts at ${s.left}`);
    else if (rail) bad(box(rail).bottom <= s.top + 1.5 && near(s.left, b.left), "chips and stage lie over each other");
    else bad(near(s.left, b.left), `the stage starts at ${s.left}, its frame at ${b.left}`);
    const picture = stage.firstElementChild;
    bad(picture && near(box(picture).width, stage.clientWidth, 2), `the picture is ${picture && box(picture).width} px wide in a stage of ${stage.clientWidth}`);
    bad(s.height >= 140, `the stage is ${s.height} px high`);
    const seen = [...stage.querySelectorAll("canvas, svg")].filter(shown);
    for (const canvas of seen) if (canvas.matches("canvas:not([data-empty])")) bad(!blank(canvas), `a canvas of ${canvas.width} × ${canvas.height} is blank`);
    const runs = texts(root);
    bad(seen.length || runs.some((run) => stage.contains(run.parent)), "there is no picture");
    for (const run of runs) bad(!run.cut, `“${run.text}” is cut by ${run.cut.toFixed(0)} px`);
    problems.push(...overlaps(runs));
    for (const button of root.querySelectorAll("button, label, output")) {
      if (shown(button) && getComputedStyle(button).textOverflow !== "ellipsis" && !button.matches(".hm-cell, .mv-cell, .chip"))
        bad(button.scrollWidth <= button.clientWidth + 2 || button.clientWidth === 0, `“${button.textContent}” does not fit its button`);
    }
    bad(document.documentElement.scrollWidth <= innerWidth + 1, `the page is ${document.documentElement.scrollWidth} px wide in a window of ${innerWidth}`);
    return [...new Set(problems)].map((sentence) => `${name}: ${sentence}`);
  }

  /** What the picture shows, to compare with another opening of it. */
  function signature(host) {
    const stage = host.shadowRoot.querySelector(".stage");
    const canvases = [...stage.querySelectorAll("canvas")].map((canvas) => {
      let hash = 0;
      for (const letter of canvas.toDataURL()) hash = (hash * 31 + letter.charCodeAt(0)) | 0;
      return `${canvas.width}×${canvas.height} ${hash}`;
    });
    return JSON.stringify([host.headscope.status, stage.innerText.replace(/\s+/g, " "), canvases]);
  }

  /** Painted, and painted again to the same measures; a picture that still moves is given more rounds. */
  async function settle(host) {
    let before = "";
    for (let round = 0; round < 30; round++) {
      await host.headscope.painted();
      await frames(1);
      const now = measures(host);
      if (now === before) return;
      before = now;
    }
  }

  function measures(host) {
    const stage = host.shadowRoot.querySelector(".stage");
    const parts = [stage, ...stage.querySelectorAll("*")].map((each) => `${each.scrollWidth}×${each.scrollHeight}`);
    return [host.headscope.status, ...parts].join(" ");
  }

  async function go(host, name) {
    host.shadowRoot.querySelector(`[role="tab"][data-view="${name}"]`).click();
    await settle(host);
  }

  const tabs = (host) => [...host.shadowRoot.querySelectorAll('[role="tab"]')].map((tab) => tab.dataset.view);

  async function walk(host) {
    await host.headscope.ready;
    const names = tabs(host);
    const [start, ...route] = circuit(names);
    await go(host, start);
    const problems = inspect(host, start);
    let before = start;
    for (const name of route) {
      await go(host, name);
      problems.push(...inspect(host, name).map((sentence) => `${before} → ${sentence}`));
      before = name;
    }
    return { tabs: names, steps: route.length, problems: [...new Set(problems)] };
  }

  /** The share of the window that the picture has. */
  function covers(host) {
    const { left, right, top, bottom } = box(host.shadowRoot.querySelector(".stage"));
    const seen = (low, high, end) => Math.max(0, Math.min(end, high) - Math.max(0, low));
    return (seen(left, right, innerWidth) * seen(top, bottom, innerHeight)) / (innerWidth * innerHeight);
  }

  return { walk, go, covers, inspect, signature, settle, tabs, texts, overlaps };
})();
