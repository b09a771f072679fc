// CUDA's thread blocks on one processor core: each thread is a context of its own, and a barrier hands on to
// the next. Enough of the language for src/rosenblatt/gpu/kernels.cu, whose threads call warp functions
// together.
#include <cmath>
#include <csetjmp>
#include <cstddef>
#include <ucontext.h>
#include <utility>
#include <vector>

using std::ceil;
using std::fma;
using std::fabs;
using std::floor;
using std::sqrt;
using std::fmax;
using std::fmin;

#define __global__
#define __device__
#define __launch_bounds__(...)
#define __shared__ static
#define __syncwarp()
#define PREFETCH(at)
#define __CUDA_ARCH__ 0

struct Index { int x, y; };
static Index threadIdx, blockIdx, blockDim, gridDim;
static std::vector<ucontext_t> fibers;
static std::vector<char> started, finished, waiting;
static std::vector<std::vector<char>> stacks;
static jmp_buf scheduler, places[1024];
static int running;
static double exchanged[1024];

// Each context goes on to its next switch in turn, so that the lanes of a warp stay together.
static void hand_on() {
    if (!_setjmp(places[running])) _longjmp(scheduler, 1);
}

static void __syncthreads() {
    waiting[running] = 1;
    hand_on();
}

template <class T> static T exchange(T value, int other) {
    exchanged[running] = (double)value;
    hand_on();
    T there = other < (int)fibers.size() ? (T)exchanged[other] : value;
    hand_on();
    return there;
}

template <class T> static T __shfl_xor_sync(unsigned, T value, int k) { return exchange(value, running ^ k); }
template <class T> static T __shfl_sync(unsigned, T value, int lane) { return exchange(value, (running & ~31) + lane); }
template <class T> static T __shfl_up_sync(unsigned, T value, int k) {
    return exchange(value, (running & 31) >= k ? running - k : running);
}

static unsigned __ballot_sync(unsigned, bool vote) {
    exchanged[running] = vote;
    int first = running & ~31;
    hand_on();
    unsigned votes = 0;
    for (int lane = 0; lane < 32 && first + lane < (int)fibers.size(); lane++)
        votes |= (unsigned)(exchanged[first + lane] != 0) << lane;
    hand_on();
    return votes;
}

static int __ffs(unsigned word) { return __builtin_ffs((int)word); }

template <class T> static T atomicAdd(T* at, T more) {
    T before = *at;
    *at += more;
    return before;
}

static void (*body)(void*);
static void* bound;

static void begin() {
    body(bound);
    finished[running] = 1;
    _longjmp(scheduler, 1);
}

// Jumps do not enter the operating system, as a swap of contexts does; only the first entry is one.
static __attribute__((noinline)) void resume(int thread) {
    if (_setjmp(scheduler)) return;
    if (started[thread]) _longjmp(places[thread], 1);
    started[thread] = 1;
    setcontext(&fibers[thread]);
}

static void run_block(int threads, int width) {
    fibers.resize(threads);
    started.assign(threads, 0);
    finished.assign(threads, 0);
    waiting.assign(threads, 0);
    if ((int)stacks.size() < threads) stacks.resize(threads, std::vector<char>(1 << 16));
    for (int t = 0; t < threads; t++) {
        getcontext(&fibers[t]);
        fibers[t].uc_stack.ss_sp = stacks[t].data();
        fibers[t].uc_stack.ss_size = stacks[t].size();
        fibers[t].uc_link = nullptr;
        makecontext(&fibers[t], begin, 0);
    }
    for (int left = threads; left > 0;) {
        int going = 0;
        for (running = 0; running < threads; running++)
            if (!finished[running] && !waiting[running]) {
                threadIdx = {running % width, running / width};
                resume(running);
                left -= finished[running];
                going += !finished[running] && !waiting[running];
            }
        if (!going) waiting.assign(threads, 0);  // all who are left have reached the barrier
    }
}

template <class... A> struct Call {
    void (*kernel)(A...);
    void** arguments;
    template <std::size_t... I> void go(std::index_sequence<I...>) { kernel(*(A*)arguments[I]...); }
    static void invoke(void* self) { ((Call*)self)->go(std::index_sequence_for<A...>()); }
};

template <class... A> static void launch(void (*kernel)(A...), const int* shape, void** arguments) {
    Call<A...> call{kernel, arguments};
    body = Call<A...>::invoke;
    bound = &call;
    gridDim = {shape[0], shape[1]};
    blockDim = {shape[2], shape[3]};
    for (int y = 0; y < gridDim.y; y++)
        for (int x = 0; x < gridDim.x; x++) {
            blockIdx = {x, y};
            run_block(blockDim.x * blockDim.y, blockDim.x);
        }
}

#define EMULATED(name) extern "C" void launch_##name(const int* shape, void** args) { launch(name, shape, args); }
