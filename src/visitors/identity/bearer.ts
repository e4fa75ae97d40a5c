/** Returns the token of an `Authorization: Bearer` header, with each HTTP adapter; undefined if there is none. */
export function bearerToken(request: unknown): string | undefined {
  const header = (request as { headers?: { authorization?: unknown } } | null | undefined)?.headers?.authorization;
  return typeof header === 'string' ? /^Bearer +(\S+)$/i.exec(header)?.[1] : undefined;
}
