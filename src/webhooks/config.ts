// The settings of webhooks: where programs outside are told, of what, and how a message to them is signed.
import { noticeTypes } from '../language/notices.ts'
import {
  type Check,
  count,
  group,
  isRecord,
  matches,
  must,
  type SettingChecks,
  texts,
} from '../lib/checks/fields.ts'
import { isSecretText } from './signature.ts'

export type WebhookConfig = {
  /** Where messages are posted. Reached within the egress rule, and redirects are not followed. */
  url: string
  /**
   * What signs messages: `whsec_` and 24 to 64 bytes in base64. Several, while one takes the place of another: each of them
   * signs. Default: one of this installation's own, which `turnwire webhooks secret <name>` shows.
   */
  secret?: string | readonly string[]
  /** The types of messages; `*` stands for any text, as in `turn.*`. Default: all. */
  events?: readonly string[]
  /** Of these agents only, by name; `*` stands for any text. */
  agents?: readonly string[]
  /** Of the sessions of these owners only. */
  owners?: readonly string[]
  /** Messages about approvals have a link by which this person decides. */
  links?: LinkSettings
}

/**
 * `approver`, `roles`: who decides, as policy rules name approvers. `forMs`: how long a link can be used, unless the approval itself
 * ends before. Default: an hour.
 */
export type LinkSettings = { approver: string; roles?: readonly string[]; forMs?: number }

/** By the name of the endpoint. */
export type WebhooksConfig = Readonly<Record<string, WebhookConfig>>

const names = (words: string): Check => texts(/^[\s\S]+$/, words)

const settings: SettingChecks<WebhookConfig> = {
  url: {
    needed: must(
      isEndpoint,
      'must be an address such as "https://app.example/hooks", without a user or a password. Only a host of this machine or network ("localhost", a name without a dot) may have http.',
    ),
  },
  secret: must(
    secret =>
      Array.isArray(secret) ? secret.length > 0 && secret.every(isSecretText) : isSecretText(secret),
    'must be "whsec_" and 24 to 64 bytes in base64, or a list of such texts. Leave it out for one that is made here.',
  ),
  events: must(
    events => Array.isArray(events) && events.every(isEventPattern),
    `must list types of messages: ${noticeTypes.join(', ')}; * stands for any text.`,
  ),
  agents: names('must be a list of names of agents; * stands for any text.'),
  owners: names('must be a list of owners; * stands for any text.'),
  links: group<LinkSettings>(
    {
      approver: { needed: matches(/\S/, 'must name the person who decides with these links.') },
      roles: names('must be a list of roles.'),
      forMs: count,
    },
    'must be an object such as { approver: "ada" }.',
  ),
}

export const checkWebhooks: Check = (value, key, wrong) => {
  if (!isRecord(value)) {
    wrong(
      key,
      'must be an object of endpoints by name, such as { ops: { url: "https://app.example/hooks" } }.',
    )
    return
  }
  for (const [name, endpoint] of Object.entries(value)) {
    if (!/^[\w.-]{1,64}$/.test(name))
      wrong(`${key}.${name}`, 'must have a name of 1 to 64 letters, digits, ".", "_" or "-".')
    group(settings, 'must be an object such as { url: "https://app.example/hooks" }.')(
      endpoint,
      `${key}.${name}`,
      wrong,
    )
  }
}

function isEndpoint(value: unknown): boolean {
  const url = typeof value === 'string' ? URL.parse(value) : null
  if (url?.username !== '' || url.password !== '') return false
  const isNear = !url.hostname.includes('.') || /^127\./.test(url.hostname)
  return url.protocol === 'https:' || (url.protocol === 'http:' && isNear)
}

function isEventPattern(value: unknown): boolean {
  if (typeof value !== 'string' || value === '') return false
  return value.includes('*') || noticeTypes.some(type => type === value)
}
