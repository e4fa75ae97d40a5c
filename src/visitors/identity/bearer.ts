/** The token of an `Authorization: Bearer` header, whatever HTTP adapter made the request; undefined without one. */
export function bearerToken(request: unknown): string | undefined {
  const header = (request as { headers?: { authorization?: unknown } } | null | undefined)?.headers?.authorization;
  return typeof header === 'string' ? /^Bearer +(\S+)$/i.exec(header)?.[1] : undefined;
}
