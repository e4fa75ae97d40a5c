import { exchangeAdapter, type Exchange } from './http';

type RequestLike = NonNullable<Exchange['request']>;
type ResponseLike = NonNullable<Exchange['response']>;

/** GraphQL's context as the usual drivers make it: of `req` and `res`, of `request` and `reply`, or of `reply` alone. */
interface GraphqlContext {
  readonly req?: RequestLike;
  readonly request?: RequestLike;
  readonly res?: ResponseLike;
  readonly reply?: ResponseLike & { readonly request?: RequestLike };
}

/** Resolvers, whatever the driver. Several fields share one request, so the call is the field's own `info`. */
export const graphqlAdapter = exchangeAdapter(
  (context) => {
    const { req, request, res, reply } = context.getArgByIndex<GraphqlContext | undefined>(2) ?? {};
    const asked = req ?? request ?? reply?.request;
    return { request: asked, response: res ?? reply ?? asked?.res };
  },
  (context) => context.getArgByIndex<object | undefined>(3),
);
