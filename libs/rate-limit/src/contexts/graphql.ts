import { exchangeAdapter, type Exchange } from './http';

type RequestLike = NonNullable<Exchange['request']>;
type ResponseLike = NonNullable<Exchange['response']>;

/** GraphQL context, as the drivers for Nest make it: with `req` and `res`, with `request` and `reply`, or with `reply` only. */
interface GraphqlContext {
  readonly req?: RequestLike;
  readonly request?: RequestLike;
  readonly res?: ResponseLike;
  readonly reply?: ResponseLike & { readonly request?: RequestLike };
}

/** Adapter for GraphQL resolvers. Several fields share one request, so `call` returns the argument `info`, which each field has alone. */
export const graphqlAdapter = exchangeAdapter(
  (context) => {
    const { req, request, res, reply } = context.getArgByIndex<GraphqlContext | undefined>(2) ?? {};
    const found = req ?? request ?? reply?.request;
    return { request: found, response: res ?? reply ?? found?.res };
  },
  (context) => context.getArgByIndex<object | undefined>(3),
);
