// The browser passes what every tool must do.
import { describe } from 'node:test'
import type { Tool } from '../../../src/engine/ports.ts'
import { contextFor, toolContract } from '../../../src/testing/contracts/tool.ts'
import { browser } from '../../../src/tools/index.ts'
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
      default:
        return { skip: 'its result is always of one form and size, and comes when its call ends' }
    }
  })
})
