// Machines that answer every request with the number that it holds, count how often each was answered, and die when told.
import type { JsonObject } from '../../src/lib/json/index.ts'
import { type RawMachine, saying } from './rig.ts'

/** How a machine takes a request. `breaks off`: it says the first words of a stream, and is gone. */
export type Fate = 'answers' | 'dies' | 'breaks off'

export function serve(
  raw: RawMachine,
  answered: Map<string, number>,
  fate: (body: JsonObject) => Fate = () => 'answers',
): void {
  let seen = 0
  const timer = setInterval(() => {
    for (; seen < raw.frames.length; seen++) {
      const frame = raw.frames[seen]
      if (frame?.type === 'ping') raw.send({ type: 'pong', ts: frame.ts })
      if (frame?.type !== 'request') continue
      const number = numberIn(frame.body)
      const how = fate(frame.body)
      if (how === 'breaks off') begin(raw, frame.id, 'half an answer')
      if (how !== 'answers') {
        clearInterval(timer)
        raw.end()
        return
      }
      answered.set(number, (answered.get(number) ?? 0) + 1)
      answer(raw, frame.id, frame.body, `answer ${number}.`)
    }
  }, 2)
  void raw.closed.then(() => clearInterval(timer))
}

/** Attaches again once the machine is gone. When the server is gone too, the test is over. */
export function comeBack(raw: RawMachine, attach: () => Promise<void>): void {
  void raw.closed.then(attach).catch(() => {})
}

/** Requests say their number so: "n12.". */
export function numberIn(body: JsonObject): string {
  return /n(\d+)\./.exec(JSON.stringify(body['input']))?.[1] ?? ''
}

function answer(raw: RawMachine, id: string, body: JsonObject, text: string): void {
  if (body['stream'] !== true) {
    raw.send({ type: 'response', id, body: saying(text) })
    return
  }
  raw.send({ type: 'stream_event', id, event: { type: 'response.completed', response: saying(text) } })
  raw.send({ type: 'stream_end', id, usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 } })
}

/** The machine says the first words of an answer. */
export function begin(raw: RawMachine, id: string, text: string): void {
  const item = { type: 'message', id: 'm', role: 'assistant', content: [] }
  const place = { item_id: 'm', output_index: 0, content_index: 0 }
  for (const event of [
    { type: 'response.output_item.added', output_index: 0, item },
    { type: 'response.output_text.delta', ...place, delta: text },
  ])
    raw.send({ type: 'stream_event', id, event })
}
