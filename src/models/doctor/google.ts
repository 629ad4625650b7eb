// Constants of both Gemini APIs.

import type { NameRule } from '../common/wire-names.ts'

export const GEMINI_NAMES: NameRule = { pattern: /^[a-zA-Z0-9_.:-]+$/, maxLength: 64, firstLetter: true }

/** Google's documented placeholder for a thought signature, for history that another model wrote. */
export const STAND_IN = 'skip_thought_signature_validator'
