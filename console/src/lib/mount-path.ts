// Where the console is: at the root of a server of ours, or under the path at which an application has mounted it. The server
// writes the path into the page. Addresses inside the console never have it; the router adds and removes it.

export const mountPath =
  document.querySelector<HTMLMetaElement>('meta[name="turnwire-mount"]')?.content.replace(/\/$/, '') ?? ''

/** The address that requests begin with. */
export const serverUrl = `${location.origin}${mountPath}`

/** A file of the build that the page names itself. */
export function publicFile(name: string): string {
  return `${mountPath}/console/${name}`
}
