// What a Lark grammar is once read: plain data. No meaning is given here; terminals.ts and productions.ts do that.

import type { Position } from './grammar-error.ts'

export type Expression =
  | { kind: 'sequence'; items: Expression[]; at: Position }
  | { kind: 'choice'; options: Expression[]; at: Position }
  | { kind: 'repeat'; item: Expression; min: number; max: number; at: Position }
  | { kind: 'rule'; name: string; at: Position }
  | { kind: 'terminal'; name: string; at: Position }
  | { kind: 'string'; text: string; insensitive: boolean; at: Position }
  | { kind: 'pattern'; source: string; flags: string; at: Position }
  | { kind: 'range'; from: string; to: string; at: Position }

export type Definition = { name: string; body: Expression; at: Position }

export type LarkGrammar = {
  rules: Map<string, Definition>
  terminals: Map<string, Definition>
  ignored: Expression[]
}
