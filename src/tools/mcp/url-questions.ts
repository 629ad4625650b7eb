// A server of 2025-11-25 may refuse a call until a person has opened an address (error -32042): a login at a third party, a
// payment. The person is asked, and the call is sent again. The server may say when it is done; one that does not is asked
// again with growing pauses, within the time of the call.
import { setTimeout as pause } from 'node:timers/promises'
import { ProtocolError } from '@modelcontextprotocol/client'
import type { ToolContext } from '../../engine/ports/index.ts'
import { isJsonObject, type Json } from '../../lib/json/index.ts'
import { answerQuestion, elicitationModes, type RunningCalls } from './from-server.ts'
import type { McpOptions } from './index.ts'

const urlElicitationRequired = -32042
const mostAddresses = 5
const firstPauseMs = 500
const longestPauseMs = 10_000

type Wanted = { id: string; url: string; message: string }

type AskedUrl = { server: string; context: ToolContext; calls: RunningCalls; options: McpOptions }

/** Sends a request, and again when the person has opened what it needs. A person who declines ends it with the server's error. */
export async function withAddressesOpened<Result>(
  send: () => Promise<Result>,
  { server, context, calls, options }: AskedUrl,
): Promise<Result> {
  const { signal } = context
  const opened = new Set<string>()
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
    try {
      return await send()
    } catch (error) {
      const wanted = wantedBy(error)
      const fresh = wanted.filter(({ id }) => !opened.has(id))
      const isTooMany = opened.size + fresh.length > mostAddresses
      if (wanted.length === 0 || isTooMany || !elicitationModes(options).includes('url')) throw error
      for (const { id, url, message } of fresh) {
        const question = { mode: 'url' as const, message, url, elicitationId: id }
        const { action } = await answerQuestion(question, { server, options, calls, signal })
        if (action !== 'accept') throw error
        opened.add(id)
      }
      if (fresh.length === 0)
        await calls.completed(
          wanted.map(({ id }) => id),
          pause(pauseMs, undefined, { signal }),
        )
    }
  }
}

function wantedBy(error: unknown): Wanted[] {
  if (!(error instanceof ProtocolError) || error.code !== urlElicitationRequired) return []
  const data = error.data as Json | undefined // It was parsed from JSON.
  const list = isJsonObject(data) && Array.isArray(data['elicitations']) ? data['elicitations'] : []
  return list
    .filter(isJsonObject)
    .flatMap(({ elicitationId: id, url, message }) =>
      typeof id === 'string' && typeof url === 'string'
        ? [{ id, url, message: typeof message === 'string' ? message : 'Open this address.' }]
        : [],
    )
}
