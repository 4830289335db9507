// The module of each turn and chat: fetches the library, once for a page, and gives it model and element.

const KEY = "LIBRARY_KEY";

async function library(model) {
  const page = (globalThis[Symbol.for("hermes_nb.libraries")] ??= new Map());
  if (page.has(KEY)) return page.get(KEY);
  const code = await new Promise(resolve => {
    const ask = () => model.send({ t: "code" });
    const timer = setInterval(ask, 1000);
    const hear = message => {
      if (message?.t !== "code") return;
      clearInterval(timer);
      model.off("msg:custom", hear);
      resolve(message.code);
    };
    model.on("msg:custom", hear);
    ask();
  });
  if (!page.has(KEY)) {
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    page.set(
      KEY,
      import(/* webpackIgnore: true */ url).finally(() => URL.revokeObjectURL(url)),
    );
  }
  return page.get(KEY);
}

// One state for all views of a model; `initialize` and `render` get different `model` objects.
export default () => {
  let shared = null;
  return {
    initialize({ model }) {
      let isOver = false;
      shared = library(model).then(made => (isOver ? null : made.open(model)));
      return () => {
        isOver = true;
        shared.then(store => store?.close());
      };
    },
    async render({ model, el, signal }) {
      const store = await shared;
      if (!store || signal?.aborted) return undefined;
      return store.show(model, el);
    },
  };
};
