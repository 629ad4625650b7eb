// Engines bound to their callers, as the server gives them to wires.
import { BoundEngine } from '../../src/callers/bound-engine.ts'
import { WorkLimits } from '../../src/callers/owner-limits.ts'
import type { Engine } from '../../src/engine/index.ts'
import type { WireHost } from '../../src/wires/host.ts'

export function boundTo(engine: Engine): WireHost['engineFor'] {
  const limits = new WorkLimits(engine)
  return caller => new BoundEngine(engine, limits, caller)
}
