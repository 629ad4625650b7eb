// Wires on an app of a test, as the server has them: their routes, and refusals in their own form.
import type { Hono } from 'hono'
import { sendRefusal } from '../../src/server/refusals.ts'
import { WireTable } from '../../src/server/wires.ts'
import type { WireEnv, WireHost } from '../../src/wires/host.ts'
import type { Wire } from '../../src/wires/wire.ts'

export async function mountWires(
  app: Hono<WireEnv>,
  host: WireHost,
  wires: readonly Wire[],
): Promise<Hono<WireEnv>> {
  const table = new WireTable(wires)
  app.onError((error, c) => sendRefusal(c, error, table, host.log))
  for (const wire of wires) {
    const { routes } = (await wire.serve(host)) ?? {}
    if (routes) app.route('/', routes)
  }
  return app
}
