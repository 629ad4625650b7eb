export type SitePage = { title: string; about: string; file: string }
export const root: string
export function sections(): { title: string; pages: SitePage[] }[]
export function routeOf(file: string): string
export function markdownRoute(file: string): string
export function allFiles(): string[]
export function slugOf(heading: string): string
export function anchorsOf(file: string): string[]
export function linksOf(
  file: string,
  text?: string,
): { at: number; written: string; anchor: string; target: string }[]
export function deadLinks(files?: string[]): string[]
export function llmsText(base?: string): string
export function llmsFullText(): string
