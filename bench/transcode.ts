// P5 as a whole: what a vendor streams (Anthropic's form) goes out to a client on another wire (UI messages) and into the
// log, in a process of its own whose CPU is measured.
import { Agent } from 'node:http'
import type { Bar, Trial, Variant } from './harness.ts'
import { join, tempFolder } from './parts.ts'
import { installed } from './peers.ts'
import { cpuOf, here, post, type Served, start, startTurnwire } from './served.ts'

const decoding = 'decoding alone'
const ours = 'turnwire, to the client and on disk'
const sdk = 'AI SDK, to the client'

export async function transcoding(): Promise<Trial[]> {
  return [
    await transcode('10,000 pieces of text from a vendor to a client (CPU)', 'text', 5, 12),
    await transcode(
      '1 MB of arguments in pieces of five bytes from a vendor to a client (CPU)',
      'arguments',
      1,
      1,
    ),
  ]
}

async function transcode(name: string, kind: string, streams: number, warmUps: number): Promise<Trial> {
  const folder = tempFolder()
  const vendor = await start([here('fixtures/vendor.ts')])
  const env = { VENDOR_URL: vendor.url }
  const agent = new Agent({ keepAlive: true })
  let chat = 0
  const load = (served: Served, path: string, ending: string) => async () => {
    for (let count = 0; count < streams; count += 1) {
      const parts = [{ type: 'text', text: 'What is two and three?' }]
      const body = { id: `chat-${chat++}`, messages: [{ id: 'm1', role: 'user', parts }] }
      const answer = await post({ agent, port: served.port, path, body })
      if (!answer.endsWith(ending)) throw new Error(`It was cut short: ${answer.slice(-200)}`)
    }
  }
  const bare = await start([here('fixtures/bare-decoder.ts')], env)
  const turnwire = await startTurnwire('vendor.config.ts', join(folder.path, 'data'), env)
  const running = [vendor, bare, turnwire]
  const variants: Variant[] = [
    cpuOf(decoding, bare, load(bare, `/${kind}`, 'done')),
    cpuOf(ours, turnwire, load(turnwire, `/ui/${kind}`, 'data: [DONE]\n\n')),
  ]
  const bars: Bar[] = [{ id: 'P5', ours, floor: decoding, most: 1.4 }]
  if (installed) {
    const peer = await start([here('peers/ai-sdk-server.mjs')], env)
    running.push(peer)
    variants.push(cpuOf(sdk, peer, load(peer, `/${kind}`, 'data: [DONE]\n\n')))
    bars.push({ id: 'P5', ours, floor: sdk, most: 0.2 })
  }
  return {
    name,
    measure: 'told',
    units: streams,
    rounds: 5,
    warmUps,
    variants,
    bars,
    async close() {
      agent.destroy()
      for (const served of running) await served.stop()
      folder.remove()
    },
  }
}
