// The process that the crash tests kill: a server on a folder that tells a receiver. Run as `node killed-server.ts <folder>`;
// the address of the receiver is in HOOK_URL.
import { scripted, startServer, Turnwire } from '../../src/index.ts'
import { announce } from '../announce.ts'
import { secret, tools } from './rig.ts'

const [folder = ''] = process.argv.slice(2)
const turnwire = await Turnwire.open({
  data: folder,
  egress: { privateHosts: ['127.0.0.1'] },
  webhooks: { ops: { url: process.env['HOOK_URL'] ?? '', secret } },
  agents: [
    {
      name: 'helper',
      model: scripted([{ calls: [{ name: 'mail', input: { to: 'bob' } }] }, { text: 'done' }], {
        whenOver: 'repeat-last',
      }),
      tools: tools([]),
    },
  ],
})
const server = await startServer(turnwire, { port: 0 })
announce(server.url)
