/** The part of a `ws` WebSocket that a server uses. */
export type Socket = {
  send(text: string): void
  close(code: number, reason?: string): void
  terminate(): void
  readonly bufferedAmount: number
  on(event: 'message', listener: (data: { toString(): string }, binary: boolean) => void): unknown
  on(event: 'close', listener: () => void): unknown
}
