// What blocks of the docs take for granted: the reader's own agents, tools, functions and values. Types alone; nothing of it exists.
import type { AbstractChat, ChatInit, UIMessage } from 'ai'
import type { AgentConfig, FileDiff, Model, Store, Tool } from '../../src/index.ts'
import type { UseStreamChatOptions } from '../../src/react/index.ts'

export { z } from 'zod'

export declare const agents: AgentConfig[]
export declare const chatId: string
export declare const initialMessages: NonNullable<UseStreamChatOptions['initialMessages']>
export declare const input: { type: 'object' }
export declare const key: string
export declare const mail: Tool
export declare const model: Model
export declare const root: string
export declare const sessionId: string
export declare const tools: Tool[]
export declare const url: string
export declare const usdc: string

export declare function notesOf(day: string | undefined): string
export declare function openMyStore(): Promise<Store & { close(): void }>
export declare function planRename(names: { from: string; to: string }): Promise<FileDiff[]>
export declare function rename(names: { from: string; to: string }): Promise<FileDiff[]>
export declare function run(): string
export declare function unpaidOrders(): Promise<{ id: number; customer: string; sum: number }[]>

/** The hook of `@ai-sdk/react`, which is not installed here, by the types of the package that it is made of. */
export declare function useChat(init: ChatInit<UIMessage> & { resume?: boolean }): AbstractChat<UIMessage>
