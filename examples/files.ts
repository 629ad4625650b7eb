// An agent that edits a file of a folder: a person sees what would change, agrees, and it is done.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { scripted, Turnwire, workspace } from 'turnwire'

const root = mkdtempSync(join(tmpdir(), 'files-'))
writeFileSync(join(root, 'config.json'), '{ "port": 80 }\n')

const model = scripted([
  { calls: [{ name: 'read_file', input: { path: 'config.json' } }] },
  {
    calls: [
      { name: 'edit_file', input: { path: 'config.json', old_text: '"port": 80', new_text: '"port": 8080' } },
    ],
  },
  { text: 'The port is 8080 now.' },
])
const turnwire = await Turnwire.open({
  agents: [{ name: 'editor', model, tools: workspace({ root }) }],
  data: 'memory',
})
const session = await turnwire.session('editor')
const reply = await session.send('Use port 8080')
if (reply.status === 'waiting') {
  for (const { callId, tool, preview } of reply.pending) {
    for (const { oldText, newText } of preview?.diffs ?? [])
      console.log(`${tool}: ${oldText?.trim()} → ${newText?.trim()}`)
    console.log((await session.approve(callId)).text)
  }
}
console.log(readFileSync(join(root, 'config.json'), 'utf8').trim())
await turnwire.close()
rmSync(root, { recursive: true })
