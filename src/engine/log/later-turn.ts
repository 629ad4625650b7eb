// Lets the event loop run other work between two pieces of long work.
import type { World } from '../ports/index.ts'

/** A later turn of the event loop. */
export function laterTurn(world: World): Promise<void> {
  return new Promise(resolve => void world.timer(0, resolve))
}
