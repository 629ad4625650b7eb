// A browser tool in a session, and whether there is a Chromium to run it.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { findChromium } from '../../../scripts/install-chromium.mjs'
import type { AgentConfig, TurnwireConfig } from '../../../src/config/config.ts'
import type { Model } from '../../../src/engine/index.ts'
import type { Outcome } from '../../../src/language/calls.ts'
import { Turnwire } from '../../../src/library/turnwire.ts'
import { type BrowserOptions, browser } from '../../../src/tools/index.ts'
import type { Shop } from './shop.ts'

export const skip = findChromium() === undefined && 'There is no Chromium: install it, or set CHROMIUM_PATH.'

/** Root has no sandbox; these tests load nothing but their own pages. */
export const quiet = { onWarning: () => {} }

export type Session = Awaited<ReturnType<Turnwire['session']>>

export async function openAgent(
  t: TestContext,
  model: Model,
  shop: Pick<Shop, 'host'>,
  options: BrowserOptions = {},
  config: Partial<TurnwireConfig> & { agent?: Partial<AgentConfig> } = {},
): Promise<Turnwire> {
  const { agent, ...rest } = config
  const turnwire = await Turnwire.open(
    {
      agents: [
        { name: 'shopper', model, tools: browser({ hosts: [shop.host], ...quiet, ...options }), ...agent },
      ],
      egress: { privateHosts: [shop.host] },
      data: 'memory',
      ...rest,
    },
    { log: () => {} },
  )
  t.after(() => turnwire.close())
  return turnwire
}

export async function outcomesOf(session: Session): Promise<Outcome[]> {
  return (await session.history()).flatMap(entry =>
    entry.role === 'tool' ? entry.results.map(({ outcome }) => outcome) : [],
  )
}

export const textIn = (outcome: Outcome | undefined): string =>
  (outcome?.parts ?? []).map(part => (part.type === 'text' ? part.text : '')).join('\n')

/** The bytes of the pictures. With `TURNWIRE_SCREENSHOTS` they are also written there, for people to look at. */
export function pictures(outcomes: readonly Outcome[], name: string): Buffer[] {
  const found = outcomes.flatMap(({ parts }) =>
    parts.flatMap(part =>
      part.type === 'image' ? [Buffer.from(part.url.split(',')[1] ?? '', 'base64')] : [],
    ),
  )
  const folder = process.env['TURNWIRE_SCREENSHOTS']
  if (folder !== undefined) {
    mkdirSync(folder, { recursive: true })
    for (const [at, bytes] of found.entries()) writeFileSync(join(folder, `${name}-${at + 1}.png`), bytes)
  }
  return found
}

/** Of a PNG. */
export const sizeOf = (png: Buffer): string => `${png.readUInt32BE(16)}x${png.readUInt32BE(20)}`
