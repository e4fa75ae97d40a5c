interface NodeResponse {
  writeHead?: (...args: never[]) => unknown;
  getHeader?(name: string): unknown;
  setHeader?(name: string, value: string): unknown;
}

/**
 * Sets the content type of a JSON response when the headers are written. If it were set earlier, Nest 11 and early versions of Nest 12 on
 * Express would replace it, and log a warning for each response.
 */
export function sendJsonAs(response: NodeResponse, type: string): void {
  const { writeHead } = response;
  response.writeHead = (...args) => {
    response.writeHead = writeHead;
    if (String(response.getHeader?.('Content-Type')).startsWith('application/json')) {
      response.setHeader?.('Content-Type', `${type}; charset=utf-8`);
    }
    return writeHead?.apply(response, args);
  };
}
