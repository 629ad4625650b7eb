// A tool with a long output: it is written to the store as it comes. The model reads the beginning and the end, and searches
// the rest with a tool that Turnwire offers for it.
import { scripted, Turnwire, tool } from 'turnwire'

const readLog = tool({
  name: 'read_log',
  description: 'The log of the server.',
  input: { type: 'object' },
  readOnly: true,
  trust: 'trusted',
  // A generator, a Node stream or a web stream.
  async *run() {
    for (let line = 1; line <= 100_000; line += 1)
      yield line === 77_777 ? `${line} error: the disk is full\n` : `${line} all is well\n`
  },
})

const model = scripted([{ calls: [{ name: 'read_log' }] }, { text: 'I have the log.' }])
const turnwire = await Turnwire.open({
  agents: [{ name: 'helper', model, tools: [readLog] }],
  data: 'memory',
})
const session = await turnwire.session('helper')
const reply = await session.send('What does the log say?')
console.log(reply.text)

const results = (await session.history()).flatMap(entry => (entry.role === 'tool' ? entry.results : []))
for (const { callId, outcome } of results) {
  console.log(
    `The model was shown ${JSON.stringify(outcome.parts).length} characters of ${outcome.kept?.bytes} bytes.`,
  )
  // The program reads the whole, piece by piece.
  let bytes = 0
  for await (const piece of session.output(callId)) bytes += piece.length
  console.log(`The program read ${bytes} bytes.`)
}
await turnwire.close()
