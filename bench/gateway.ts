// P7: what one stateless `/v1/responses` request costs the server itself, with keys and prices on, against a proxy that
// looks at nothing.
import { Agent } from 'node:http'
import type { Trial } from './harness.ts'
import { join, tempFolder } from './parts.ts'
import { cpuOf, here, post, type Served, start, startTurnwire } from './served.ts'

const clients = 8
const requests = 50
const key = 'tw_bench'

export async function statelessRequests(): Promise<Trial[]> {
  return [await stateless('whole', false), await stateless('streamed', true)]
}

async function stateless(form: string, stream: boolean): Promise<Trial> {
  const folder = tempFolder()
  const vendor = await start([here('fixtures/vendor.ts')])
  const env = { VENDOR_URL: `${vendor.url}/plain`, BENCH_KEY: key }
  const proxy = await start([here('fixtures/bare-proxy.ts')], env)
  const turnwire = await startTurnwire('gateway.config.ts', join(folder.path, 'data'), env)
  const agent = new Agent({ keepAlive: true, maxSockets: clients })
  const body = { model: 'bench', input: 'What is two and three?', stream, store: false }
  const load = (served: Served) => async () => {
    const headers = { authorization: `Bearer ${key}` }
    const one = async (): Promise<void> => {
      for (let count = 0; count < requests; count += 1) {
        const answer = await post({ agent, port: served.port, path: '/v1/responses', body, headers })
        if (!answer.includes('as you would expect')) throw new Error(answer)
      }
    }
    await Promise.all(Array.from({ length: clients }, one))
  }
  return {
    name: `a stateless /v1/responses request, answered ${form} (CPU of the server)`,
    measure: 'told',
    units: clients * requests,
    rounds: 9,
    // About twenty thousand requests, as other servers have: until then a good part of the code is not compiled.
    warmUps: 50,
    variants: [
      cpuOf('bare proxy', proxy, load(proxy)),
      cpuOf('turnwire, keys and prices on', turnwire, load(turnwire)),
    ],
    bars: [{ id: 'P7', ours: 'turnwire, keys and prices on', floor: 'bare proxy', most: stream ? 2.6 : 2.4 }],
    async close() {
      agent.destroy()
      for (const served of [vendor, proxy, turnwire]) await served.stop()
      folder.remove()
    },
  }
}
