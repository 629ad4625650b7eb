// The frames of one WebSocket client, handled one after another in the order in which they came. A client that sends
// faster than its frames are handled is refused, so that few frames wait.

import type { Socket } from '../../lib/net/socket.ts'

/** Frames that may wait for the one that is handled. */
const mostWaiting = 64
/** The close codes for a client that breaks a rule of the server, and for a server that failed. */
const policyViolation = 1008
const crashed = 1011

export class FrameQueue {
  readonly #socket: Pick<Socket, 'close'>
  readonly #mostChars: number
  #last: Promise<void> = Promise.resolve()
  #frames = 0
  #chars = 0

  constructor(socket: Pick<Socket, 'close'>, mostChars: number) {
    this.#socket = socket
    this.#mostChars = mostChars
  }

  /** `size`: of the frame, in characters. `handle` tells its client of failures; one that it does not tell closes the socket. */
  add(size: number, handle: () => Promise<void>): void {
    // One frame of any allowed size always fits; a flood of frames is refused.
    const isFull = this.#frames > 0 && this.#chars + size > this.#mostChars
    if (isFull || this.#frames >= mostWaiting) {
      this.#socket.close(policyViolation, 'Too many frames at once. Wait for what was sent.')
      return
    }
    this.#frames += 1
    this.#chars += size
    this.afterAll(async () => {
      try {
        await handle()
      } finally {
        this.#frames -= 1
        this.#chars -= size
      }
    })
  }

  /** Runs when everything that was added before has been handled. */
  afterAll(run: () => void | Promise<void>): void {
    this.#last = this.#last.then(run).catch(() => this.#socket.close(crashed, 'The server failed.'))
  }
}
