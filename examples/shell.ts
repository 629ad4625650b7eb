// An agent that runs commands in a sandbox, with live output. Without bubblewrap it says why nothing was run.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { scripted, shell, Turnwire } from 'turnwire'

const root = mkdtempSync(join(tmpdir(), 'shell-'))
const commands = [
  'echo "made here" > note.txt && cat note.txt',
  '(echo > /dev/tcp/127.0.0.1/80) 2>&1 | tail -1',
]
const turnwire = await Turnwire.open(
  {
    agents: [
      {
        name: 'runner',
        model: scripted([{ calls: [{ name: 'shell', input: { commands } }] }, { text: 'Done.' }]),
        tools: [shell({ root, trust: 'trusted', limits: { timeoutMs: 60_000 } })],
      },
    ],
    data: 'memory',
  },
  { log: () => {} },
)
const session = await turnwire.session('runner')
for await (const item of session.send('Try it')) {
  if (item.type === 'output') console.log(`terminal ${item.terminal}: ${item.text.trim()}`)
  if (item.type === 'result' && item.outcome.kind !== 'ok') console.log(item.outcome.parts)
}
await turnwire.close()
rmSync(root, { recursive: true })
