// A tool that runs commands in a sandbox.

export { findBubblewrap } from './sandbox.ts'
export { type ShellLimits, type ShellOptions, shell } from './shell.ts'
