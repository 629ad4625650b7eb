import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { z } from 'zod'
import { Egress } from '../../../src/lib/net/egress.ts'
import { toolContract } from '../../../src/testing/index.ts'
import { http } from '../../../src/tools/index.ts'

function serve(scenario: string): Server {
  return createServer((_, answer) => {
    if (scenario === 'slow') return
    if (scenario === 'fails') answer.writeHead(404).end('no such city')
    else if (scenario === 'huge') answer.writeHead(200).end('cloud '.repeat(50_000))
    else answer.writeHead(200, { 'content-type': 'application/json' }).end('{"sky":"blue"}')
  })
}

toolContract('an HTTP API', async scenario => {
  if (scenario === 'reports') return { skip: 'An HTTP API reports nothing while it works.' }
  if (scenario === 'wrong') return { skip: 'It declares no output schema.' }
  if (scenario === 'later') return { skip: 'An HTTP API answers in the same request.' }
  const server = serve(scenario)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const egress = new Egress({ privateHosts: [host] })
  const made = http({
    name: 'weather',
    description: 'The weather of a city.',
    url: `http://${host}/{city}`,
    input: z.object({ city: z.string() }),
  })
  return {
    tool: {
      ...made,
      run: (input, context) =>
        made.run(input, {
          ...context,
          fetch: (url, init) => egress.fetch(url, { signal: context.signal, ...init }),
        }),
    },
    input: { city: scenario === 'refuses' ? '..' : 'Rome' },
    says: scenario === 'fails' ? 'no such city' : scenario === 'refuses' ? 'part of a path' : 'blue',
    close: () => {
      egress.close()
      server.closeAllConnections()
      server.close()
    },
  }
})
