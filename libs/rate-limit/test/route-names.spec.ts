import { Controller, Get, Post, RequestMethod, Version, VERSION_NEUTRAL, type Type } from '@nestjs/common';
import { classRouteOf, routeOf, short, type Handler } from '../src/rules/route-names';

type Methods = Readonly<Record<string, Handler>>;

const methodOf = (target: Type<unknown>, name: string): Handler => (target.prototype as Methods)[name] as Handler;

/** A class whose method `go` has this metadata. */
function declared(ofClass: Readonly<Record<string, unknown>>, ofMethod: Readonly<Record<string, unknown>> = {}) {
  class Any {
    go(): void {
      // Nobody calls it.
    }
  }
  const handler = methodOf(Any, 'go');
  for (const key in ofClass) Reflect.defineMetadata(key, ofClass[key], Any);
  for (const key in ofMethod) Reflect.defineMetadata(key, ofMethod[key], handler);
  return { target: Any as Type<unknown>, handler };
}

const CONTROLLER = { __controller__: true };
const get = { method: RequestMethod.GET };

describe('the name of a route over HTTP', () => {
  @Controller({ path: 'cats', version: '1' })
  class Cats {
    @Get(':id')
    find(): void {
      // Nobody calls it.
    }

    @Version(['2', '3'])
    @Post()
    create(): void {
      // Nobody calls it.
    }
  }

  it('has the method, the path and the version', () => {
    expect(routeOf(Cats, methodOf(Cats, 'find'), '')).toBe('GET /cats/:id v1');
    expect(routeOf(Cats, methodOf(Cats, 'create'), '')).toBe('POST /cats v2,3');
    expect(classRouteOf(Cats, '')).toBe('/cats v1');
  });

  it('has the path of the module', () => {
    expect(routeOf(Cats, methodOf(Cats, 'find'), '/api/')).toBe('GET /api/cats/:id v1');
    expect(classRouteOf(Cats, 'api')).toBe('/api/cats v1');
  });

  it.each<[string, unknown, unknown, string]>([
    ['without a path', undefined, undefined, 'GET /'],
    ['of slashes only', '/', '//', 'GET /'],
    ['with slashes at both ends', '//a//', '/b/', 'GET /a/b'],
    ['with slashes inside', 'a//b', 'c', 'GET /a//b/c'],
    ['of several paths', ['a', '/b'], ['c', 'd'], 'GET /a,/b/c,d'],
    ['of a regular expression', /^a/, 'b', 'GET /^a/b'],
    ['of something else', { a: 1 }, 5, 'GET /{"a":1}/5'],
  ])('%s', (_, ofClass, ofMethod, name) => {
    const { target, handler } = declared({ ...CONTROLLER, path: ofClass }, { ...get, path: ofMethod });
    expect(routeOf(target, handler, '')).toBe(name);
  });

  it('has the host', () => {
    const { target, handler } = declared({ ...CONTROLLER, path: 'a', host: ['x.org', /y/] }, { ...get, path: 'b' });
    expect(routeOf(target, handler, '')).toBe('GET x.org,/y//a/b');
    expect(classRouteOf(target, '')).toBe('x.org,/y//a');
  });

  it.each<[string, unknown, unknown, string]>([
    ['of the class', '1', undefined, 'GET / v1'],
    ['of the method', '1', '2', 'GET / v2'],
    ['neutral', undefined, VERSION_NEUTRAL, 'GET / vneutral'],
    ['several', ['1', VERSION_NEUTRAL], undefined, 'GET / v1,neutral'],
    ['none', undefined, undefined, 'GET /'],
  ])('has the version: %s', (_, ofClass, ofMethod, name) => {
    const { target, handler } = declared({ ...CONTROLLER, __version__: ofClass }, { ...get, __version__: ofMethod });
    expect(routeOf(target, handler, '')).toBe(name);
  });
});

describe('the name of another route', () => {
  it('of a microservice has the pattern', () => {
    const { target, handler } = declared({}, { 'microservices:pattern': { cmd: 'sum' } });
    expect(routeOf(target, handler, '')).toBe('rpc {"cmd":"sum"}');
  });

  it.each<[string, object, string, string]>([
    ['alone', {}, 'ws /', 'ws / hello'],
    [
      'with options',
      { 'websockets:gateway_options': { namespace: '/chat/', path: 'p' } },
      'ws /chat/p',
      'ws /chat/p hello',
    ],
    ['with a port', { port: 8080, 'websockets:gateway_options': { path: 'p' } }, 'ws /8080/p', 'ws /8080/p hello'],
    ['with port 0', { port: 0 }, 'ws /', 'ws / hello'],
  ])('of a gateway %s has the message', (_, metadata, ofClass, name) => {
    const { target, handler } = declared({ 'websockets:is_gateway': true, ...metadata }, { message: 'hello' });
    expect([classRouteOf(target, ''), routeOf(target, handler, '')]).toEqual([ofClass, name]);
  });

  it('of a message outside of a gateway has the message', () => {
    const { target, handler } = declared({ 'websockets:is_gateway': false }, { message: { a: 1 } });
    expect([classRouteOf(target, ''), routeOf(target, handler, '')]).toEqual([undefined, 'ws {"a":1}']);
  });

  it('of a resolver has the type and the field', () => {
    const { target, handler } = declared(
      { 'graphql:resolver_name': 'Cat' },
      { 'graphql:resolver_type': 'Query', 'graphql:resolver_name': 'cats' },
    );
    expect([classRouteOf(target, ''), routeOf(target, handler, '')]).toEqual(['graphql Cat', 'graphql Query.cats']);
    const unnamed = declared({}, { 'graphql:resolver_type': 'Mutation' });
    expect(routeOf(unnamed.target, unnamed.handler, '')).toBe('graphql Mutation.go');
  });

  it('is undefined for a class and a method that are not a route', () => {
    const { target, handler } = declared({ path: 'a' });
    expect([classRouteOf(target, ''), routeOf(target, handler, '')]).toEqual([undefined, undefined]);
    expect(classRouteOf(declared({ __controller__: 'yes' }).target, '')).toBeUndefined();
  });
});

describe('a long name', () => {
  it('of up to 96 characters stays as it is', () => {
    expect(short('a'.repeat(96))).toBe('a'.repeat(96));
  });

  it('gets a hash in place of its end', () => {
    const name = short('a'.repeat(97));
    expect(name).toMatch(/^a{64}~[0-9a-f]{16}$/);
    expect(short('a'.repeat(98))).not.toBe(name);
  });
});
