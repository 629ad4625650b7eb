// The owner's side of the relay, for the command.
export { Attachment } from './attachment.ts'
export { openWallet } from './key.ts'
export { serverAgent } from './local-agent.ts'
export { readServer, readUsage, signIn } from './sign-in.ts'
export { isRunning, readStatus, StatusFile } from './status.ts'
