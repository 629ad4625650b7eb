// The next turn of the microtask queue. Node's `queueMicrotask` makes an object for its hooks each time, which costs
// several times as much. Runs in a browser too.
const done = Promise.resolve()

export function soon(run: () => void): void {
  void done.then(run)
}
