import {
  decodeResponse,
  encodeStored,
  responseToStore,
  type EncodedResponse,
  type Headers,
  type SentResponse,
} from '../src/idempotency/stored-response';

const sent = (parts: Partial<SentResponse> = {}): SentResponse => ({ status: 200, headers: {}, body: 'ok', ...parts });

function stored(response: SentResponse, before: Headers = {}): EncodedResponse {
  return responseToStore(response, before, 10_000) as EncodedResponse;
}

describe('the headers of a stored response', () => {
  it('are those that the handler has set, changed or removed', () => {
    const before = { 'x-same': 'a', 'x-list': ['a', 'b'], 'x-other': ['a'], 'x-gone': '1', 'x-number': 5 };
    const headers = { 'x-same': 'a', 'x-list': ['a', 'b'], 'x-other': ['b'], 'x-new': 'n', 'x-number': 6 };
    expect(stored(sent({ headers }), before).headers).toEqual([
      ['x-other', ['b']],
      ['x-new', 'n'],
      ['x-number', '6'],
      ['x-gone', null],
    ]);
  });

  it('do not differ for a list and its text, but for a list and another value', () => {
    expect(stored(sent({ headers: { a: ['x'] } }), { a: 'x' }).headers).toEqual([['a', ['x']]]);
    expect(stored(sent({ headers: { a: 'x' } }), { a: ['x'] }).headers).toEqual([['a', 'x']]);
  });

  it.each([
    'connection',
    'content-length',
    'date',
    'keep-alive',
    'set-cookie',
    'trailer',
    'transfer-encoding',
    'upgrade',
  ])('do not have %s, whether it was set or removed', (name) => {
    expect(stored(sent({ headers: { [name]: '1' } })).headers).toEqual([]);
    expect(stored(sent(), { [name]: '1' }).headers).toEqual([]);
  });

  it('have no pseudo headers of HTTP/2, and none without a value', () => {
    expect(stored(sent({ headers: { ':status': 200, 'x-none': undefined } })).headers).toEqual([]);
    expect(stored(sent({ headers: { 'x-was': undefined } }), { 'x-was': 'a' }).headers).toEqual([['x-was', null]]);
  });

  it('have the content-length of a response to HEAD only', () => {
    const headers = { 'content-length': 5 };
    expect(stored(sent({ headers, body: '' })).headers).toEqual([['content-length', '5']]);
    expect(stored(sent({ headers, body: 'hello' })).headers).toEqual([]);
    expect(stored(sent({ headers: { 'content-length': 0 }, body: '' })).headers).toEqual([]);
    expect(stored(sent({ body: '' })).headers).toEqual([]);
  });
});

describe('the text of a stored response', () => {
  it('has the body as it is if it is text', () => {
    expect(stored(sent({ message: 'Fine' })).text).toBe('[200,[],"utf8","Fine"]\nok');
    expect(stored(sent()).text).toBe('[200,[],"utf8"]\nok');
    expect(stored(sent({ body: Buffer.from('é') })).text).toBe('[200,[],"utf8"]\né');
    expect(stored(sent({ body: 'a\ud800' })).text).toBe('[200,[],"utf8"]\na\ufffd');
  });

  it('has the body in base64 if it is not text', () => {
    expect(stored(sent({ body: Buffer.from([0xff, 0]) })).text).toBe('[200,[],"base64"]\n/wA=');
  });

  it('has the part of the memory that a view shows', () => {
    const memory = new Uint8Array([0x61, 0x62, 0x63, 0x64]);
    expect(stored(sent({ body: memory.subarray(1, 3) })).text).toBe('[200,[],"utf8"]\nbc');
  });

  it.each<[string, string | Buffer]>([
    ['text', 'é'.repeat(10)],
    ['bytes', Buffer.from('é'.repeat(10))],
    ['bytes that are not text', Buffer.alloc(20, 0xff)],
  ])('has at most maxBytes before base64: %s', (_, body) => {
    const bytes = 20 + (Buffer.isBuffer(body) && body[0] === 0xff ? '[200,[],"base64"]\n' : '[200,[],"utf8"]\n').length;
    const response = { status: 200, message: undefined, headers: [], body };
    expect(encodeStored(response, bytes)).toBeDefined();
    expect(encodeStored(response, bytes - 1)).toBeUndefined();
  });

  it('is undefined for a response that is too large', () => {
    expect(responseToStore(sent({ body: 'x'.repeat(50) }), {}, 60)).toBeUndefined();
  });

  it('is short enough without counting bytes only if three bytes for each character are', () => {
    const response = { status: 200, message: undefined, headers: [], body: '€'.repeat(10) };
    const head = '[200,[],"utf8"]\n'.length;
    expect(encodeStored(response, 30 + head)).toBeDefined();
    expect(encodeStored(response, 29 + head)).toBeUndefined();
    expect(encodeStored(response, 3 * (10 + head))).toBeDefined();
  });
});

describe('a stored response that is read again', () => {
  const roundTrip = (response: SentResponse) => decodeResponse(stored(response).text);

  it('is as it was sent', () => {
    const headers = { 'content-type': 'text/plain', 'x-list': ['a', 'b'] };
    expect(roundTrip(sent({ status: 201, message: 'Made', headers, body: 'a\nb' }))).toEqual({
      status: 201,
      message: 'Made',
      headers: [['content-type', 'text/plain'], ['x-list', ['a', 'b']]], // prettier-ignore
      body: 'a\nb',
    });
    expect(roundTrip(sent({ body: Buffer.from([0xff, 0]) }))?.body).toEqual(Buffer.from([0xff, 0]));
    expect(stored(sent({ body: Buffer.from('é') })).body).toBe('é');
  });

  it('is undefined if none was stored', () => {
    expect(decodeResponse('')).toBeUndefined();
    expect(decodeResponse('text without a line')).toBeUndefined();
  });

  it.each([99, 1_000, 200.5, '200'])('is refused if its status is %p', (status) => {
    expect(() => decodeResponse(`${JSON.stringify([status, [], 'utf8'])}\n`)).toThrow(
      new TypeError(
        'The stored response of an idempotent request has a status that is not an integer from 100 to 999. Another program may have written to its key in Redis.',
      ),
    );
  });

  it.each([100, 200, 599, 999])('may have the status %p, which Node sends', (status) => {
    expect(decodeResponse(`${JSON.stringify([status, [], 'utf8'])}\n`)?.status).toBe(status);
  });

  it.each([
    ['status message', [200, [], 'utf8', 'a\r\nb']],
    ['name', [200, [['a b', 'x']], 'utf8']],
    ['value', [200, [['a', 'x\ny']], 'utf8']],
    ['value in a list', [200, [['a', ['x', 'x\ny']]], 'utf8']],
    ['name of a removed header', [200, [['a b', null]], 'utf8']],
  ])('is refused if a %s cannot be sent', (_, line) => {
    expect(() => decodeResponse(`${JSON.stringify(line)}\n`)).toThrow(
      /^(Invalid character in header content|Header name must be a valid HTTP token)/,
    );
  });

  it('may remove a header', () => {
    expect(decodeResponse('[200,[["a",null]],"utf8"]\n')?.headers).toEqual([['a', null]]);
  });
});
