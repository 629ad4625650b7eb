// Turns of the event loop for work that comes in many pieces, such as large answers to many readers. Each turn of the loop
// starts one piece, and the sockets and timers of everyone else are served between two.

const waiting: (() => void)[] = []
let isScheduled = false

/** Resolves in a later turn of the event loop. Each turn resolves one waiting promise, in the order of the calls. */
export function loopTurn(): Promise<void> {
  return new Promise(resolve => {
    waiting.push(resolve)
    schedule()
  })
}

function schedule(): void {
  if (isScheduled) return
  isScheduled = true
  setImmediate(wakeOne)
}

function wakeOne(): void {
  isScheduled = false
  waiting.shift()?.()
  if (waiting.length > 0) schedule()
}
