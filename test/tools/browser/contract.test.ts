// Both tools of the browser pass what every tool must do.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe } from 'node:test'
import type { Tool } from '../../../src/engine/ports/index.ts'
import { Egress } from '../../../src/lib/net/egress.ts'
import { contextFor, toolContract } from '../../../src/testing/contracts/tool.ts'
import { type BrowserOptions, browser } from '../../../src/tools/index.ts'
import { quiet, skip } from './rig.ts'

describe('the browser', { skip }, () => {
  toolContract('computer', async scenario => {
    const [tool] = browser({ hosts: ['shop.example'], ...quiet }) as [Tool, Tool]
    const close = async (): Promise<void> => tool.close?.()
    switch (scenario) {
      case 'answers':
        // A new browser says so once.
        await tool.run({ actions: [{ action: 'screenshot' }] }, contextFor())
        return { tool, input: { actions: [{ action: 'screenshot' }] }, says: 'Page: about:blank', close }
      case 'fails':
        return {
          tool,
          input: { actions: [{ action: 'navigate', url: 'file:///etc/passwd' }] },
          says: 'http',
          close,
        }
      case 'slow':
        return { tool, input: { actions: [{ action: 'wait', ms: 30_000 }] }, close }
      case 'refuses':
        return { tool, input: { actions: [{ action: 'type' }] }, says: 'needs text', close }
      case 'reports':
        return { skip: 'it shows nothing before its screenshot' }
      case 'huge':
        return { skip: 'its text is the address and short notes; a picture has limits of its own' }
      default:
        return { skip: 'it promises no form of its result, which comes when its call ends' }
    }
  })

  toolContract('browser', async scenario => {
    const { site, tool, close } = await openPage()
    switch (scenario) {
      case 'answers':
        await tool.run({ action: 'read' }, contextFor())
        return { tool, input: { action: 'read' }, says: 'heading "Green tea"', close }
      case 'fails':
        return { tool, input: { action: 'navigate', url: 'file:///etc/passwd' }, says: 'http', close }
      case 'slow':
        return { tool, input: { action: 'navigate', url: `${site}/never` }, close }
      case 'refuses':
        return { tool, input: { action: 'navigate' }, says: 'url', close }
      case 'huge': {
        await close()
        const long = await openPage('/long')
        return { tool: long.tool, input: { action: 'read' }, close: long.close }
      }
      case 'reports':
        await close()
        return { skip: 'it shows nothing before its screenshot' }
      default:
        await close()
        return { skip: 'it promises no form of its result, which comes when its call ends' }
    }
  })
})

/** The page tool with a site on loopback that the egress rule allows. */
async function openPage(home = '/') {
  const server = createServer(({ url }, response) => {
    if (url === '/never') return
    response.setHeader('content-type', 'text/html')
    const lines = url === '/long' ? '<p>The same line again and again.</p>'.repeat(5_000) : ''
    response.end(`<!doctype html><title>Tea</title><h1>Green tea</h1>${lines}`)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const egress = new Egress({ privateHosts: [host] })
  const options: BrowserOptions = {
    hosts: [host],
    home: `http://${host}${home}`,
    settleMs: 600_000,
    ...quiet,
  }
  const [, page] = browser(options) as [Tool, Tool]
  const tool: Tool = {
    ...page,
    run: (input, context) =>
      // The signal of a call is made when it is read first, so it is not copied with the rest.
      page.run(input, {
        ...context,
        signal: context.signal,
        connect: (url, hosts) => egress.connect(url, hosts),
      }),
  }
  const close = async (): Promise<void> => {
    await page.close?.()
    egress.close()
    server.closeAllConnections()
    server.close()
  }
  return { site: `http://${host}`, tool, close }
}
