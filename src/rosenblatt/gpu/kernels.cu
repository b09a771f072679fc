// The steps of the perceptron within a block of rows, in CUDA C++, compiled by NVRTC for
//   SCORE   the type of scores (that of the weights; double in the dual form)
//   DATA    the type of rows and Gram entries
//   ROWS    a block holds at most 32 * ROWS rows, 1,024
// For tests the same source is compiled by a C++ compiler (tests/gpu/emulator.h).
//
// A block of n rows comes with its scores, S (problems, lds) = W X', and its Gram matrix, G = X diag(rates) X'.
// A walk takes the steps of the sequential algorithm: a correction at row i adds pull * (G[i, j] + c²) to the
// scores of the rows j after it. It leaves in S the score of each row when it was visited, and the corrections
// in lists, in order: the place of the row in the block, what was added to the weights, and what is added to
// the averaging sum; in the dual form (`squares` is not null) the time instead of the latter.

#define NONE 0x7fffffff
#define WHOLE 0xffffffffu      // all lanes of a warp
#define PART 64                // rows after which a walk updates the scores of the rest of the block
#define ROUNDING 1.2e-7f       // twice the error of one addition in single precision, and a little more
#ifndef PREFETCH
#define PREFETCH(at) asm volatile("prefetch.global.L1 [%0];" :: "l"(at))
#endif
#define LEAST 1.2e-38f         // the error of a product below the smallest normal number

struct Problem {
    double below, above;  // the largest margins that are corrected, for y = -1 and +1; exact as SCORE
    double padding;       // c²
    int negative;         // the class with y = -1; -1 for all but the positive one
    int positive;
    int weights;          // the row of omega
    int rates;            // the row of etas
    int model;
    int active;
};

// rules.step: the coefficient of an example of importance `weight`.
static __device__ double step_of(double margin, double threshold, double eta, double weight, double sqnorm) {
    if (!(margin <= threshold)) return 0.0;
    if (weight <= 1.0) return eta * weight;
    double gain = eta * sqnorm;
    if (gain <= 0.0) return eta * weight;
    double needed = floor((threshold - margin) / gain) + 1.0;
    if (margin + (needed - 1.0) * gain > threshold) needed -= 1.0;
    return eta * fmin(weight, needed);
}

// rules.lag: what an update by tau at `time` adds to the averaging sum.
static __device__ double lag_of(double tau, double eta, double time) {
    if (eta == 0.0) return 0.0;
    double copies = tau / eta, whole = floor(copies), rest = copies - whole;
    return eta * (whole * time + 0.5 * whole * (whole - 1.0) + rest * (time + whole));
}

static __device__ unsigned copies_of(double tau, double eta) {
    return eta > 0.0 ? (unsigned)fmax(1.0, ceil(fabs(tau) / eta)) : 1u;
}

static __device__ int warp_min(int value) {
    for (int k = 16; k > 0; k >>= 1) {
        int other = __shfl_xor_sync(0xffffffffu, value, k);
        value = other < value ? other : value;
    }
    return value;
}

static __device__ double warp_sum(double value) {
    for (int k = 16; k > 0; k >>= 1) value += __shfl_xor_sync(0xffffffffu, value, k);
    return value;
}

// w·x by one warp, in the precision of the data.
static __device__ SCORE warp_dot(const DATA* w, const DATA* x, int features, int lane) {
    DATA a = 0, b = 0, c = 0, d = 0;
    int f = lane;
    for (; f + 96 < features; f += 128) {
        a += w[f] * x[f];
        b += w[f + 32] * x[f + 32];
        c += w[f + 64] * x[f + 64];
        d += w[f + 96] * x[f + 96];
    }
    for (; f < features; f += 32) a += w[f] * x[f];
    return (SCORE)warp_sum((double)((a + b) + (c + d)));
}

// Prefetch the Gram entries between the rows b .. b + PART of a block, one cache line per request.
static __device__ void prefetch_part(const DATA* G, int ldg, int b, int n, int lane) {
    const int lines = PART * (int)sizeof(DATA) / 128;
    for (int k = lane; k < PART * lines; k += 32) {
        const int i = b + k / lines, j = b + k % lines * (PART / lines);
        if (i < n && j < n) PREFETCH(G + (size_t)i * ldg + j);
    }
}

// Add corrections to the scores s of the rows b .. n of a block, in their order.
static __device__ void add_later(
    const DATA* __restrict__ G, int ldg, int b, int n, SCORE padding, int corrections, const int* rows,
    const SCORE* pulls, SCORE* s, int lane)
{
    for (int first = b + lane; first < n; first += 8 * 32) {
        SCORE scores[8];
        #pragma unroll
        for (int k = 0; k < 8; k++) scores[k] = first + k * 32 < n ? s[first + k * 32] : (SCORE)0;
        #pragma unroll 4
        for (int e = 0; e < corrections; e++) {
            const DATA* g = G + (size_t)rows[e] * ldg;
            #pragma unroll
            for (int k = 0; k < 8; k++) {
                const DATA entry = first + k * 32 < n ? g[first + k * 32] : (DATA)0;
                scores[k] = fma(pulls[e], (SCORE)entry + padding, scores[k]);
            }
        }
        #pragma unroll
        for (int k = 0; k < 8; k++)
            if (first + k * 32 < n) s[first + k * 32] = scores[k];
    }
}

// One warp per problem, at most four per thread block, walks through the rows in parts: a correction updates
// the scores of the later rows of its part at once, with prefetched Gram entries, and those of the rest of the
// block at the end of the part, in the same order. The arrays are those of Buffers in blocks.py.
//
// Scores of lower precision (`error` > 0; needs rows X, weights W and the norms of both) are a screen:
// slack + slope * length bounds the difference to the score that starts with w·x in full precision. A margin
// further from the threshold decides as that score would. Any other row is scored again, with all corrections
// of the block in their order, and so is a mistake whose size matters (weight > 1).
extern "C" __global__ void walk(
    const DATA* __restrict__ G, int ldg, SCORE* S, int lds, int n, const Problem* problems, int total,
    const int* codes, const double* omega, long long weights_stride, const double* etas,
    long long etas_stride, const double* bias, double* clock, int timed, int* count, int* place,
    double* pulls, double* lates, int cap, unsigned long long* updates, unsigned* row_updates,
    int rows_stride, double* squares, const double* before, double error, int features, const DATA* X,
    const DATA* W, const float* lengths, const float* norms, float largest_rate)
{
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, c = blockIdx.x * (blockDim.x >> 5) + warp;
    __shared__ SCORE held[4][32 * ROWS];
    __shared__ int added_rows[4][PART];  // the corrections of this part
    __shared__ SCORE added_pulls[4][PART];
    if (c >= total) return;
    const Problem p = problems[c];
    if (!p.active) {
        if (lane == 0) count[c] = 0;
        return;
    }
    const double* weight_of = omega + p.weights * weights_stride;
    const double* eta_of = etas + p.rates * etas_stride;
    const double one_eta = eta_of[0], start = clock[c];
    const SCORE below = (SCORE)p.below, above = (SCORE)p.above, offset = (SCORE)bias[c];
    const SCORE padding = (SCORE)p.padding;
    const bool screened = error > 0.0;
    const float norm = screened ? norms[c] : 0.0f;
    SCORE* s = held[warp];
    SCORE* own = S + (size_t)c * lds;
    unsigned positive = 0, visited = 0;
    if (warp == 0) prefetch_part(G, ldg, 0, n, lane);
    for (int r = 0; r * 32 < n; r += 8) {
        int code[8];
        SCORE score[8];
        #pragma unroll
        for (int k = 0; k < 8; k++) {  // issue all loads before the first is used
            const int j = (r + k) * 32 + lane;
            code[k] = j < n ? codes[j] : NONE;
            score[k] = j < n ? own[j] : (SCORE)0;
        }
        #pragma unroll
        for (int k = 0; k < 8; k++) {
            const int j = (r + k) * 32 + lane;
            const bool is_positive = code[k] == p.positive;
            bool is_own = j < n && (is_positive || p.negative < 0 || code[k] == p.negative);
            if (weights_stride && is_own && weight_of[j] == 0.0) is_own = false;
            if (j < n) s[j] = score[k] + offset;
            positive |= (unsigned)is_positive << (r + k & 31);
            visited |= (unsigned)is_own << (r + k & 31);
        }
    }
    double passed = 0.0, grown = 0.0, moved = 0.0;
    // |score| <= reach + spread·‖x‖ throughout the walk.
    float reach = fabs((float)offset), spread = norm;
    float ahead = screened && lane < n ? lengths[lane] : 0.0f;
    unsigned long long n_updates = 0;
    int made = 0;
    for (int b = 0; b < n; b += PART) {
        const int end = b + PART < n ? b + PART : n;
        int now = 0;  // corrections of this part
        if (warp == 0) prefetch_part(G, ldg, b + PART, n, lane);
        for (int i0 = b; i0 < end; i0 += 32) {
            const int j = i0 + lane;
            const bool is_own = visited >> (i0 / 32) & 1, is_positive = positive >> (i0 / 32) & 1;
            const SCORE threshold = is_positive ? above : below;
            double weight = weights_stride && is_own ? weight_of[j] : 1.0, time = start + j;
            if (timed) {  // the weights of the rows of this problem before this one
                double sum = is_own ? weight : 0.0, mine = sum;
                for (int k = 1; k < 32; k <<= 1) {
                    double other = __shfl_up_sync(WHOLE, sum, k);
                    if (lane >= k) sum += other;
                }
                time = start + passed + (sum - mine);
                passed += __shfl_sync(WHOLE, sum, 31);
            }
            unsigned left = WHOLE;
            bool known = !screened;
            const float length = ahead;
            ahead = screened && j + 32 < n ? lengths[j + 32] : 0.0f;
            const double was = squares && j < n ? before[(size_t)c * lds + j] : 0.0;
            SCORE mine = j < n ? s[j] : (SCORE)0;
            while (true) {
                const SCORE margin = is_positive ? mine : -mine;
                const bool wrong = is_own && margin <= threshold;
                bool unsure = false;
                if (screened) {
                    const float slack = ROUNDING * (made + 1) * reach + LEAST * features;
                    const float slope = (float)error * norm + ROUNDING * (made + 1) * spread;
                    const bool close = fabs((float)(margin - threshold)) <= slack + slope * length;
                    unsure = is_own && !known && (close || (wrong && weight > 1.0));
                }
                const unsigned which = __ballot_sync(WHOLE, unsure || wrong) & left;
                if (which == 0) break;
                const int first = __ffs(which) - 1, i = i0 + first;
                if (screened && __ballot_sync(WHOLE, unsure) >> first & 1) {  // score it again
                    SCORE exact = offset
                        + warp_dot(W + (size_t)c * features, X + (size_t)i * features, features, lane);
                    __syncwarp();
                    #pragma unroll 4
                    for (int e = 0; e < made; e++) {
                        const size_t at = (size_t)c * cap + e;
                        exact = fma((SCORE)pulls[at], (SCORE)G[(size_t)place[at] * ldg + i] + padding, exact);
                    }
                    if (lane == first) {
                        mine = exact;
                        known = true;
                    }
                    continue;
                }
                const DATA* g = G + (size_t)i * ldg;
                const DATA near = j < n ? g[j] : (DATA)0, far = j + 32 < end ? g[j + 32] : (DATA)0;
                double pull = 0.0;
                if (lane == first) {
                    double eta = etas_stride > 1 ? eta_of[i] : one_eta, tau = eta;
                    if (weights_stride) {
                        double sqnorm = weight > 1.0 ? (double)(SCORE)((SCORE)g[i] + padding) : 0.0;
                        tau = step_of((double)margin, is_positive ? p.above : p.below, eta, weight, sqnorm);
                    }
                    pull = is_positive ? tau : -tau;
                    if (tau != 0.0) {
                        unsigned copies = weights_stride ? copies_of(tau, eta) : 1u;
                        size_t at = (size_t)c * cap + made;
                        place[at] = i;
                        pulls[at] = pull;
                        added_rows[warp][now] = i;
                        added_pulls[warp][now] = (SCORE)pull;
                        if (lates) {
                            double late = squares ? time : weights_stride ? lag_of(tau, eta, time) : eta * time;
                            lates[at] = squares || is_positive ? late : -late;
                        }
                        n_updates += copies;
                        if (row_updates) atomicAdd(&row_updates[(size_t)p.model * rows_stride + i], copies);
                        if (squares) {
                            double self = tau * tau * ((double)g[i] + p.padding);
                            grown += 2.0 * pull * (double)mine + self;
                            moved += 2.0 * pull * ((double)mine - was) + self;
                        }
                    }
                }
                pull = __shfl_sync(WHOLE, pull, first);
                left = first == 31 ? 0u : WHOLE << (first + 1);
                if (pull == 0.0) continue;
                made++;
                now++;
                const SCORE scaled = (SCORE)pull;
                if (screened) {
                    const float other = __shfl_sync(WHOLE, length, first);
                    reach += fabs((float)pull) * (float)p.padding;
                    spread += fabs((float)pull) * largest_rate * other;
                }
                if (lane > first) mine = fma(scaled, (SCORE)near + padding, mine);
                if (j + 32 < end) s[j + 32] = fma(scaled, (SCORE)far + padding, s[j + 32]);
            }
            if (j < n) s[j] = mine;
        }
        __syncwarp();
        if (now) add_later(G, ldg, end, n, padding, now, added_rows[warp], added_pulls[warp], s, lane);
        __syncwarp();
    }
    for (int j = lane; j < n; j += 32) own[j] = s[j];
    if (n_updates) atomicAdd(&updates[c], n_updates);
    if (lane == 0) {
        count[c] = made;
        clock[c] = start + (timed ? passed : (double)n);
    }
    if (squares) {
        grown = warp_sum(grown);
        moved = warp_sum(moved);
        if (lane == 0) {
            squares[c] += grown;
            squares[total + c] += moved;
        }
    }
}

// The class other than `label` with the largest score of a row; the first of equal ones.
static __device__ int best_other_class(const SCORE* scores, size_t stride, int classes, int label) {
    int rival = label == 0 ? 1 : 0;
    SCORE most = scores[rival * stride];
    for (int c = rival + 1; c < classes; c++) {
        SCORE s = scores[c * stride];
        if (c != label && s > most) {
            most = s;
            rival = c;
        }
    }
    return rival;
}

// All classes jointly: one thread block per model, one thread per row. An update adds the row to its class
// and subtracts it from the rival, the best wrong class; each copy of a weighted row may have another rival.
// `scratch` is (models, 3, classes).
extern "C" __global__ void __launch_bounds__(1024) walk_joint(
    const DATA* G, int ldg, SCORE* S, int lds, int n, const Problem* problems, int classes, const int* codes,
    const double* omega, long long weights_stride, const double* etas, long long etas_stride,
    const double* bias, double* clock, int* count, int* place, double* pulls, double* lates, int cap,
    unsigned long long* updates, unsigned* row_updates, int rows_stride, double* squares,
    const double* before, double* scratch)
{
    const int first = blockIdx.x * classes, t = threadIdx.x, lane = t & 31, warp = t >> 5;
    const int warps = (blockDim.x + 31) / 32;
    __shared__ int firsts[2][32];
    __shared__ int label_at, rival_at, touched;
    __shared__ double left_at, eta_at, time_at, weight_at;
    __shared__ double times[1024];
    const Problem p = problems[first];
    for (int c = t; c < classes; c += blockDim.x) count[first + c] = 0;
    if (!p.active) return;
    const double* weight_of = omega + p.weights * weights_stride;
    const double* eta_of = etas + p.rates * etas_stride;
    const SCORE below = (SCORE)p.below, above = (SCORE)p.above, padding = (SCORE)p.padding;
    SCORE* own = S + (size_t)first * lds;
    double* total = scratch + (size_t)blockIdx.x * 3 * classes;
    double* late_total = total + classes;
    double* now = late_total + classes;
    int label = 0, rival = 0, visited = 0;
    double weight = 0.0;
    if (t < n) {
        label = codes[t];
        weight = weights_stride ? weight_of[t] : 1.0;
        visited = weight > 0.0;
        for (int c = 0; c < classes; c++) own[(size_t)c * lds + t] += (SCORE)bias[first + c];
        rival = best_other_class(own + t, lds, classes, label);
    }
    times[t] = weight;
    __syncthreads();
    if (t == 0) {
        double time = clock[first];
        for (int j = 0; j < n; j++) {
            double more = times[j];
            times[j] = time;
            time += more;
        }
        for (int c = 0; c < classes; c++) clock[first + c] = time;
    }
    __syncthreads();
    int next = 0;
    for (int parity = 0;; parity ^= 1) {
        int mine = NONE;
        if (t < n && visited && t >= next) {
            SCORE margin = own[(size_t)label * lds + t] - own[(size_t)rival * lds + t];
            if (margin <= (label > rival ? above : below)) mine = t;
        }
        int least = warp_min(mine);
        if (lane == 0) firsts[parity][warp] = least;
        __syncthreads();
        int i = NONE;
        for (int k = 0; k < warps; k++) i = firsts[parity][k] < i ? firsts[parity][k] : i;
        if (i == NONE) break;
        if (t == i) {
            label_at = label;
            rival_at = rival;
            weight_at = left_at = weight;
            eta_at = eta_of[etas_stride > 1 ? i : 0];
            time_at = times[i];
            touched = 0;
        }
        for (int c = t; c < classes; c += blockDim.x) {
            total[c] = late_total[c] = 0.0;
            now[c] = (double)own[(size_t)c * lds + i];
        }
        __syncthreads();
        const DATA* g = G + (size_t)i * ldg;
        if (t == 0) {
            double sqnorm = (double)(SCORE)((SCORE)g[i] + padding);
            int l = label_at, r = rival_at;
            double left = left_at;
            while (left > 0.0 && (SCORE)now[l] - (SCORE)now[r] <= (l > r ? above : below)) {
                double part = left < 1.0 ? left : 1.0, pull = part * eta_at;
                for (int side = 0; side < 2; side++) {
                    int c = side ? r : l;
                    double signed_pull = side ? -pull : pull;
                    if (squares) {
                        double self = pull * pull * ((double)g[i] + p.padding);
                        squares[first + c] += 2.0 * signed_pull * now[c] + self;
                        squares[gridDim.x * classes + first + c] +=
                            2.0 * signed_pull * (now[c] - before[(size_t)(first + c) * lds + i]) + self;
                    }
                    total[c] += signed_pull;
                    late_total[c] += signed_pull * (time_at + weight_at - left);
                    now[c] = (double)(SCORE)(now[c] + signed_pull * sqnorm);
                    if (squares) {  // the log of the dual form has a line for each copy
                        size_t at = (size_t)(first + c) * cap + count[first + c];
                        place[at] = i;
                        pulls[at] = signed_pull;
                        lates[at] = time_at + weight_at - left;
                        count[first + c]++;
                    }
                }
                left -= part;
                touched++;
                if (left > 0.0) {  // the next copy may have another rival
                    r = l == 0 ? 1 : 0;
                    for (int c = r + 1; c < classes; c++)
                        if (c != l && now[c] > now[r]) r = c;
                }
            }
            updates[first] += touched;
            if (row_updates) row_updates[(size_t)p.model * rows_stride + i] += touched;
        }
        __syncthreads();
        if (touched == 1) {
            int l = label_at, r = rival_at;
            if (t > i && t < n) {
                SCORE change = (SCORE)total[l] * ((SCORE)g[t] + padding);
                SCORE up = own[(size_t)l * lds + t] + change, down = own[(size_t)r * lds + t] - change;
                own[(size_t)l * lds + t] = up;
                own[(size_t)r * lds + t] = down;
                bool fell = rival == r ? change > 0 : rival == l && change < 0;
                if (fell) {
                    rival = best_other_class(own + t, lds, classes, label);
                } else {  // a class whose score rose may be the rival now
                    int risen = change > 0 ? l : r;
                    SCORE s = change > 0 ? up : down, most = own[(size_t)rival * lds + t];
                    if (risen != label && risen != rival && (s > most || (s == most && risen < rival)))
                        rival = risen;
                }
            }
        } else if (touched > 1) {
            for (int c = 0; c < classes; c++)
                if (total[c] != 0.0 && t > i && t < n)
                    own[(size_t)c * lds + t] += (SCORE)total[c] * ((SCORE)g[t] + padding);
            if (t > i && t < n) rival = best_other_class(own + t, lds, classes, label);
        }
        if (!squares && touched)
            for (int c = t; c < classes; c += blockDim.x)
                if (total[c] != 0.0) {
                    size_t at = (size_t)(first + c) * cap + count[first + c];
                    place[at] = i;
                    pulls[at] = total[c];
                    if (lates) lates[at] = late_total[c];
                    count[first + c]++;
                }
        next = i + 1;
        __syncthreads();
    }
}

// W += pulls · X diag(rates) and U += lates · X diag(rates) over the lists of a block; one thread block per
// problem and 4 * blockDim.x features. Rows are added one by one, in the order of the sequential algorithm.
extern "C" __global__ void apply(
    const DATA* X, int features, const int* count, const int* place, const double* pulls, const double* lates,
    int cap, const Problem* problems, DATA* W, double* U, double* bias, double* bias_sums)
{
    const int c = blockIdx.y, t = threadIdx.x, m = count[c];
    if (m == 0) return;
    __shared__ int rows[128];
    __shared__ double taus[128], times[128];
    const int base = blockIdx.x * 4 * blockDim.x + t;
    DATA w[4];
    double u[4];
    #pragma unroll
    for (int k = 0; k < 4; k++) {
        int f = base + k * blockDim.x;
        w[k] = f < features ? W[(size_t)c * features + f] : (DATA)0;
        u[k] = U && f < features ? U[(size_t)c * features + f] : 0.0;
    }
    for (int start = 0; start < m; start += 128) {
        int some = m - start < 128 ? m - start : 128;
        __syncthreads();
        for (int e = t; e < some; e += blockDim.x) {
            size_t at = (size_t)c * cap + start + e;
            rows[e] = place[at];
            taus[e] = pulls[at];
            times[e] = U ? lates[at] : 0.0;
        }
        __syncthreads();
        #pragma unroll 8
        for (int e = 0; e < some; e++) {
            const DATA* x = X + (size_t)rows[e] * features;
            DATA tau = (DATA)taus[e];
            #pragma unroll
            for (int k = 0; k < 4; k++) {
                int f = base + k * blockDim.x;
                DATA value = f < features ? x[f] : (DATA)0;
                w[k] += tau * value;
                if (U) u[k] += times[e] * (double)value;
            }
        }
    }
    #pragma unroll
    for (int k = 0; k < 4; k++) {
        int f = base + k * blockDim.x;
        if (f < features) {
            W[(size_t)c * features + f] = w[k];
            if (U) U[(size_t)c * features + f] = u[k];
        }
    }
    if (blockIdx.x == 0 && t == 0) {
        double sum = 0.0, late = 0.0;
        for (int e = 0; e < m; e++) {
            sum += pulls[(size_t)c * cap + e];
            if (U) late += lates[(size_t)c * cap + e];
        }
        bias[c] += sum * problems[c].padding;
        bias_sums[c] += late * problems[c].padding;
    }
}

// Scores of all rows in the dual form: scores[c, j] += sum of pulls · K[slot of row i, j]; one thread block
// per problem and 4 * blockDim.x rows. `slots` are the indices in K of the rows of a block.
extern "C" __global__ void apply_dual(
    const DATA* K, long long ldk, const int* slots, int rows, const int* count, const int* place,
    const double* pulls, int cap, SCORE* scores, long long ld)
{
    const int c = blockIdx.y, t = threadIdx.x, m = count[c];
    if (m == 0) return;
    __shared__ int at[128];
    __shared__ double taus[128];
    const int base = blockIdx.x * 4 * blockDim.x + t;
    SCORE s[4];
    #pragma unroll
    for (int k = 0; k < 4; k++) {
        int j = base + k * blockDim.x;
        s[k] = j < rows ? scores[c * ld + j] : (SCORE)0;
    }
    for (int start = 0; start < m; start += 128) {
        int some = m - start < 128 ? m - start : 128;
        __syncthreads();
        for (int e = t; e < some; e += blockDim.x) {
            at[e] = slots[place[(size_t)c * cap + start + e]];
            taus[e] = pulls[(size_t)c * cap + start + e];
        }
        __syncthreads();
        #pragma unroll 8
        for (int e = 0; e < some; e++) {
            const DATA* row = K + at[e] * ldk;
            SCORE tau = (SCORE)taus[e];
            #pragma unroll
            for (int k = 0; k < 4; k++) {
                int j = base + k * blockDim.x;
                if (j < rows) s[k] += tau * (SCORE)row[j];
            }
        }
    }
    #pragma unroll
    for (int k = 0; k < 4; k++) {
        int j = base + k * blockDim.x;
        if (j < rows) scores[c * ld + j] = s[k];
    }
}

// Copy the rows of a block in their order; if `rated` is not null, also each feature times its rate.
extern "C" __global__ void gather(
    const DATA* X, const int* order, int features, const float* rates, int n_rates, DATA* out, DATA* rated)
{
    const DATA* row = X + (size_t)order[blockIdx.x] * features;
    for (int f = threadIdx.x; f < features; f += blockDim.x) {
        DATA x = row[f];
        out[(size_t)blockIdx.x * features + f] = x;
        if (rated) rated[(size_t)blockIdx.x * features + f] = x * (DATA)rates[f < n_rates ? f : n_rates - 1];
    }
}

// Copy the Gram entries between the rows of a block out of rows of the Gram matrix.
extern "C" __global__ void gather_gram(
    const DATA* K, long long ldk, const int* slots, const int* order, int n, DATA* out, int ldo)
{
    const int i = blockIdx.x, slot = slots[i];
    for (int j = i + threadIdx.x; j < n; j += blockDim.x)
        out[(size_t)i * ldo + j] = K[slot * ldk + order[j]];
}

// Copy the scores of the rows of a block.
extern "C" __global__ void gather_scores(
    const SCORE* scores, long long ld, const int* order, int n, SCORE* out, int ldo)
{
    for (int j = threadIdx.x; j < n; j += blockDim.x)
        out[(size_t)blockIdx.x * ldo + j] = scores[blockIdx.x * ld + order[j]];
}

// Count per model the wrong predictions on the rows of a block, and the rows that any of its problems
// corrected. Thread blocks of (32, 8): 32 rows, and 8 threads per row that share the classes.
extern "C" __global__ void count_mistakes(
    const SCORE* S, int lds, int n, int per_model, const Problem* problems, const int* codes,
    const double* omega, long long weights_stride, unsigned* row_updates, int rows_stride, int predicts,
    unsigned long long* mistakes, unsigned long long* updated)
{
    __shared__ SCORE most[8][32];
    __shared__ int which[8][32];
    const int j = blockIdx.x * 32 + threadIdx.x, first = blockIdx.y * per_model, part = threadIdx.y;
    const Problem p = problems[first];
    const bool visited = p.active && j < n
        && !(weights_stride && omega[p.weights * weights_stride + j] == 0.0);
    SCORE best = 0;
    int at = NONE;
    if (visited && predicts)
        for (int c = part; c < per_model; c += 8) {
            SCORE s = S[(size_t)(first + c) * lds + j];
            if (at == NONE || s > best) {
                best = s;
                at = c;
            }
        }
    most[part][threadIdx.x] = best;
    which[part][threadIdx.x] = at;
    __syncthreads();
    if (part != 0 || !visited) return;  // rows that are not visited have no updates
    for (int k = 1; k < 8; k++) {
        SCORE s = most[k][threadIdx.x];
        int c = which[k][threadIdx.x];
        if (c != NONE && (s > best || (s == best && c < at))) {
            best = s;
            at = c;
        }
    }
    if (per_model == 1) at = best > 0;
    if (predicts && at != codes[j]) atomicAdd(&mistakes[blockIdx.y], 1ull);
    unsigned* made = row_updates + (size_t)blockIdx.y * rows_stride + j;
    if (*made) atomicAdd(&updated[blockIdx.y], 1ull);
    *made = 0;
}

// The norms of the rows of a matrix, rounded up; one thread block of 128 per row. If `count` is not null, only
// of rows whose count is not 0.
extern "C" __global__ void row_norms(const DATA* A, int features, const int* count, float* out)
{
    __shared__ double parts[4];
    if (count && count[blockIdx.x] == 0) return;
    double sum = 0.0;
    for (int f = threadIdx.x; f < features; f += blockDim.x) {
        double a = (double)A[(size_t)blockIdx.x * features + f];
        sum += a * a;
    }
    sum = warp_sum(sum);
    if ((threadIdx.x & 31) == 0) parts[threadIdx.x >> 5] = sum;
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = (float)(sqrt(parts[0] + parts[1] + parts[2] + parts[3]) * 1.0000003);
}

// The votes of all past weight vectors; see kernels/gram.py:vote. K (support, m) holds the kernel between the
// support rows and the rows to score; one thread per row and problem.
extern "C" __global__ void vote(
    const DATA* K, int m, const long long* starts, const long long* places, const double* pulls,
    const double* times, const double* clock, int problems, double* out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x, p = blockIdx.y;
    if (i >= m) return;
    double s = 0.0, total = 0.0, since = 0.0;
    for (long long e = starts[p]; e < starts[p + 1]; e++) {
        double size = fabs(pulls[e]), now = times[e], k = (double)K[(size_t)places[e] * m + i];
        double pull = pulls[e] > 0.0 ? k : -k;
        total += (now - since) * (s > 0.0 ? 1.0 : -1.0);
        while (size > 1.0) {
            s += pull;
            total += s > 0.0 ? 1.0 : -1.0;
            now += 1.0;
            size -= 1.0;
        }
        s += size * pull;
        since = now;
    }
    total += (clock[p] - since) * (s > 0.0 ? 1.0 : -1.0);
    out[(size_t)i * problems + p] = total / fmax(clock[p], 1e-300);
}
