// The configuration that runs without a configuration file: an agent on the rehearsal model, with tools that touch
// nothing but the data folder. It shows every kind of tool and option.

import type { TurnwireConfig } from '../config/config.ts'
import { isPostgresUrl } from '../data/data-place.ts'
import { rehearsal } from '../models/rehearsal/index.ts'
import { demoTools } from './tools.ts'

export type DemoOptions = {
  /** A folder, "postgres://…", or "memory". Default ".turnwire". */
  data?: string
  /** Milliseconds between words, for people who watch. Default 0. */
  delayMs?: number
}

export function demoConfig(options: DemoOptions = {}): TurnwireConfig {
  const { data = '.turnwire', delayMs = 0 } = options
  return {
    data,
    // Examples of any documentation work here with any model name.
    server: { anyModel: true },
    agents: [
      {
        name: 'helper',
        title: 'Helper',
        version: '1.0.0',
        description: 'A demonstration that needs no key: weather, notes, mail and sums, all of them offline.',
        system: 'You are a helpful assistant. Use the tools for whatever they can answer.',
        model: rehearsal({ thinking: true, delayMs }),
        tools: demoTools(data === 'memory' || isPostgresUrl(data) ? undefined : data),
        options: [
          {
            name: 'tone',
            type: 'text',
            title: 'Tone',
            description: 'How answers should sound. The rehearsal model takes no notice of it.',
            default: 'friendly',
          },
          {
            name: 'detail',
            type: 'select',
            title: 'Detail',
            description: 'How much the weather report says.',
            options: ['brief', 'full'],
            default: 'brief',
          },
          {
            name: 'api_token',
            type: 'secret',
            title: 'API token',
            description: 'Sealed at rest and never shown again. A mail says only whether there was one.',
            default: '',
          },
        ],
      },
    ],
  }
}
